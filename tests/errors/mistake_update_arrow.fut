entry f [n] (xs: [n]f32) (i: i64): *[n]f32 =
  xs[i] <- 2
