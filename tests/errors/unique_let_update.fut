def f [n] (xs: [n]i32): [n]i32 =
  let xs[0] = 1
  in xs
