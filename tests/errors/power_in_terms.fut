def potential (r: f64): f64 =
  let s = 1 / r
  in 4 * (s ^ 12 - s ^ 6)
