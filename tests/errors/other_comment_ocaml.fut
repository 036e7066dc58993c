entry main [n] (xs: [n]f32): f32 =
  (* the sum, of all *)
  f32.sum xs
