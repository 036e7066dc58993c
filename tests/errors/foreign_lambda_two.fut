entry main [n] (xs: [n]f32): f32 = reduce (lambda a, b: a + b) 0 xs
