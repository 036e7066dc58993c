-- Runs of equal elements: their first elements and their lengths, by a scan and a scatter.

-- sizes lengths: n=1; n=100003; n=5000000; n=211
entry lengths [n] (xs: [n]u8): [n]i32 =
  let starts = map (\i -> i32.bool (i == 0 || xs[i] / 16 != xs[i - 1] / 16)) (iota n)
  let numbers = map (\x -> i64.i32 x - 1) (scan (+) 0 starts)
  in reduce_by_index (replicate n 0) (+) 0 numbers (replicate n 1)

-- sizes firsts: n=1; n=100003; n=5000000; n=211
entry firsts [n] (xs: [n]u8): [n]u8 =
  let starts = map (\i -> i == 0 || xs[i] / 16 != xs[i - 1] / 16) (iota n)
  let numbers = scan (+) 0 (map i64.bool starts)
  in scatter (replicate n 0) (map2 (\s k -> if s then k - 1 else -1) starts numbers) xs
