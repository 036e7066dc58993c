entry main (x: f32): f32 =
  let f32 y = x * 2
  in y
