entry main [n] (xs: [n]f32): [n]f32 = f32.sqrt xs
