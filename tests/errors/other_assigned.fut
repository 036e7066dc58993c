entry main (x: f64): f64 =
  y <- x * 2
  y
