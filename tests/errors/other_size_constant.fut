def n = 10
entry main (xs: [n]f64): f64 = xs[3]
