entry g [n] (xs: [n]f32): f32 =
  f32.sum (mpa (+ 1) xs)
