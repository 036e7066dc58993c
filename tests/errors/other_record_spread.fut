entry main (a: f32): f32 =
  let p = {x = a, y = a}
  in {...p, x = 1}.x
