entry main [n] (xs: [n]f32): i64 = xs.shape[0]
