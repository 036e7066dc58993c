entry main [n] (xs: [n]f64): [n]f64 = f64.sqrt.(xs)
