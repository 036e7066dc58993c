def h (xs: []f32): f32 =
  let s = loop s = 0 for x in xs:
    s + x
  in s
