def f [n] (xs: *[n]i32): i32 =
  let first = xs[0:1]
  let xs[0] = 5
  in xs[0] + first[0]
