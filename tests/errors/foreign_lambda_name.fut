entry main [n] (xs: [n]f32): [n]f32 = map (lambda x: x) xs
