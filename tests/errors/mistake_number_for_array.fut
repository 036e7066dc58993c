entry f [n] (xs: [n]i64) (k: i64): [k]i64 =
  let h = replicate k 0
  in reduce_by_index h (+) 0 xs 1
entry shifted [n] (xs: [n]f32) = map (\i -> xs[i]) n
entry text (n: i64): []u8 = "n = " ++ n
