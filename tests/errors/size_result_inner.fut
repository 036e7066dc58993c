entry main (k: i64) (xs: []f32): [k]f32 =
  let ys = filter (> 0) xs
  in map (\i -> ys[i % 2]) (iota (k + length ys))
