entry main [n] (xs: [n]f32): f32 = f32.sum $ map f32.abs xs
