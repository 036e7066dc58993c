def dot [n] [m] (xs: [n]f32) (ys: [m]f32): f32 = f32.sum (map2 (*) xs ys)
