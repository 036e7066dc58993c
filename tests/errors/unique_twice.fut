def f [n] (xs: *[n]i32): ([n]i32, [n]i32) =
  let a = xs with [0] = 1
  let b = xs with [0] = 2
  in (a, b)
