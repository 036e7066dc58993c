-- Sums of the squares of columns.

entry transposed [n][m] (xss: [n][m]f32): [m]f32 =
  map (\xs -> f32.sum (map (\x -> x * x) xs)) (transpose xss)

entry indices [n][m] (xss: [n][m]f32): [m]f32 =
  tabulate m (\j -> f32.sum (tabulate n (\i -> xss[i, j] * xss[i, j])))

entry sliced [n][m] (xss: [n][m]f32): [m]f32 =
  tabulate m (\j -> let xs = xss[:, j] in f32.sum (map2 (*) xs xs))

entry vectors [n][m] (xss: [n][m]f32): [m]f32 =
  reduce (map2 (+)) (replicate m 0) (map (map (\x -> x * x)) xss)

entry mapped_first [n][m] (xss: [n][m]f32): [m]f32 =
  map f32.sum (transpose (map (map (\x -> x * x)) xss))

entry flat_indices [n][m] (xss: [n][m]f32): [m]f32 =
  let xs = flatten xss
  in tabulate m (\j -> f32.sum (tabulate n (\i -> xs[i * m + j] * xs[i * m + j])))

entry zipped [n][m] (xss: [n][m]f32): [m]f32 =
  map (\xs -> reduce (+) 0 (map (\(x, y) -> x * y) (zip xs xs))) (transpose xss)

entry flat_map [n][m] (xss: [n][m]f32): [m]f32 =
  map f32.sum (transpose (unflatten (map (\x -> x * x) (flatten xss))))
