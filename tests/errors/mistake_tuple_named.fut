def newton (x: f64): f64 =
  let slope = jvp2 (** 2) x 1
  in x - 1 / slope
