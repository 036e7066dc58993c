entry f [n] (xs: [n]f32): f32
  f32.sum xs
