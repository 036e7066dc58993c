entry main [n] (xs: [n]f32): [n]f32 = [x * 2 | x <- xs]
