def f [n] (xs: *[n]i32): i32 =
  loop s = 0 for i < n do
    let ys = xs with [i] = 1
    in s + ys[0]
