def merged [k][m] (parts: [k][m]i32) =
  let add [p] (a: *[p]i32) (b: [p]i32): [p]i32 = loop a for i < p do a with [i] = a[i] + b[i]
  in reduce add (replicate m 0) parts
