def f [n] (xs: *[n]i32): [n]i32 =
  map (\i -> (xs with [i] = 1)[i]) (iota n)
