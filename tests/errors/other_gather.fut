entry main [n][m] (xs: [n]f32) (is: [m]i64): [m]f32 = xs[is]
