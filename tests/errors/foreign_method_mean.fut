entry main [n] (xs: [n]f64): f64 = xs.mean() + 1
