entry main (x: f64): [2]f64 = vec![x, x]
