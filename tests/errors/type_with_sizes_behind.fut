entry main [n][m] (xs: f32[n][m]): f32 = xs[0, 0]
