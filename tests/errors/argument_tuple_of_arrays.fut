entry main [n] (xs: [n]f32) (ys: [n]f32): [n]f32 = map2 (+) (xs, ys)
