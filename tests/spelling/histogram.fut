-- Counts of the values of a matrix, which are less than k.

entry flattened [n][m] (k: i64) (xss: [n][m]i32): [k]i32 =
  let xs = flatten xss
  in reduce_by_index (replicate k 0) (+) 0 (map i64.i32 xs) (map (\_ -> 1) xs)

entry library [n][m] (k: i64) (xss: [n][m]i32): [k]i32 =
  hist (+) 0 k (map i64.i32 (flatten xss)) (replicate (n * m) 1)

entry nested_map [n][m] (k: i64) (xss: [n][m]i32): [k]i32 =
  let keys = map (map i64.i32) xss
  in reduce_by_index (replicate k 0) (+) 0 (flatten keys) (replicate (n * m) 1)

entry zipped [n][m] (k: i64) (xss: [n][m]i32): [k]i32 =
  let pairs = map (\x -> (i64.i32 x, 1)) (flatten xss)
  let (keys, ones) = unzip pairs
  in reduce_by_index (replicate k 0) (\x y -> y + x) 0 keys ones

entry indices [n][m] (k: i64) (xss: [n][m]i32): [k]i32 =
  let keys = tabulate (n * m) (\p -> i64.i32 xss[p / m, p % m])
  in reduce_by_index (replicate k 0) (+) 0 keys (replicate (n * m) 1)

entry tabulated [n][m] (k: i64) (xss: [n][m]i32): [k]i32 =
  let keys = flatten (tabulate_2d n m (\i j -> i64.i32 xss[i, j]))
  in reduce_by_index (replicate k 0) (+) 0 keys (map (const 1) keys)

entry of_records [n][m] (k: i64) (xss: [n][m]i32): [k]i32 =
  let bins = reduce_by_index (replicate k {count = 0}) (\x y -> {count = x.count + y.count})
                             {count = 0} (map i64.i32 (flatten xss)) (replicate (n * m) {count = 1})
  in map (.count) bins
