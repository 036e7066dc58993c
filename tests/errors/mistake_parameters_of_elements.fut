entry f [n] (xs: [n]i32): [n]i32 =
  map (\x i -> x * i) xs (iota n)
entry g [n] (xs: [n]i32): [n]i32 =
  map2 (\(x, i) -> x * i32.i64 i) xs (iota n)
entry h [n] (xs: [n]i32): [n]i32 =
  map (\(x, i) -> x * i32.i64 i) xs
