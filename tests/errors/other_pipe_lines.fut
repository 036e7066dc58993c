entry main [n] (xs: [n]i64): i64 =
  xs
  |> map (+ 1)
  |> reduce (+)
