def bubble [n] (xs: [n]i32): [n]i32 =
  loop ys = xs for i < n - 1 do
    let a = ys[i]
    let ys = ys with [i] = ys[i + 1]
    in ys with [i + 1] = a
