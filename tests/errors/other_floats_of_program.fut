entry main (x: f64): f64 = math.sqrt(x)
