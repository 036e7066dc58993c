entry main (x: f64): [3]f64 = [x; 3]
