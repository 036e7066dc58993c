entry main [n] (xs: [n]f32): f32 =
  loop s = 0 for x in xs do
    s = s + x
