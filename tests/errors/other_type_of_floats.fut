entry main [n] (xs: [n]f64): f64 = f32.sum xs
