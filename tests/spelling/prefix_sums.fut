-- Prefix sums of the rows of a matrix, read as one sequence.

entry flattened [n][m] (xss: [n][m]i32): [n * m]i32 =
  scan (+) 0 (map (* 3) (flatten xss))

entry nested_map [n][m] (xss: [n][m]i32): [n * m]i32 =
  scan (+) 0 (flatten (map (map (* 3)) xss))

entry indices [n][m] (xss: [n][m]i32): [n * m]i32 =
  scan (+) 0 (tabulate (n * m) (\p -> xss[p / m, p % m] * 3))

entry tabulated [n][m] (xss: [n][m]i32): [n * m]i32 =
  scan (+) 0 (flatten (tabulate_2d n m (\i j -> xss[i, j] * 3)))

entry zipped [n][m] (xss: [n][m]i32): [n * m]i32 =
  let xs = flatten xss
  in scan (\x y -> y + x) 0 (map (\(x, y) -> x * y) (zip xs (replicate (n * m) 3)))

entry of_records [n][m] (xss: [n][m]i32): [n * m]i32 =
  map (.sum) (scan (\x y -> {sum = x.sum + y.sum}) {sum = 0} (map (\x -> {sum = x * 3}) (flatten xss)))

entry reversed [n][m] (xss: [n][m]i32): [n * m]i32 =
  reverse (reverse (scan (+) 0 (map (* 3) (reverse (reverse (flatten xss))))))

entry round_trip [n][m] (xss: [n][m]i32): [n * m]i32 =
  scan (+) 0 (map (* 3) (flatten (unflatten (flatten xss) : [n][m]i32)))
