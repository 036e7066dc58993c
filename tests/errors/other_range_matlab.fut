entry main (n: i64): f64 = f64.sum (map (\k -> 1 / f64.i64 (k * k)) (1:n))
