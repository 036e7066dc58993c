entry main [n] (xs: [n]f32): [n]f32 = [x + 1 for x in xs]
