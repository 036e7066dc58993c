entry main (x: f64): f64 = exp x
