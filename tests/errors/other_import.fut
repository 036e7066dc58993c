entry main [n] (xs: [n]f64): f64 = stats_f64.mean xs
