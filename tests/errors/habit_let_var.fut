def twice (x: f32): f32 =
  let var y = x * 2
  in y
