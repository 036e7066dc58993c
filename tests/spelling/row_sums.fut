-- Sums of the squares of rows.

entry nested [n][m] (xss: [n][m]f32): [n]f32 =
  map (\xs -> reduce (+) 0 (map (\x -> x * x) xs)) xss

entry library [n][m] (xss: [n][m]f32): [n]f32 =
  map f32.sum (map (map (\x -> x * x)) xss)

entry indices [n][m] (xss: [n][m]f32): [n]f32 =
  tabulate n (\i -> f32.sum (tabulate m (\j -> xss[i, j] * xss[i, j])))

entry flat_map [n][m] (xss: [n][m]f32): [n]f32 =
  map f32.sum (unflatten (map (\x -> x * x) (flatten xss)))

entry flat_indices [n][m] (xss: [n][m]f32): [n]f32 =
  let xs = flatten xss
  in tabulate n (\i -> f32.sum (tabulate m (\j -> xs[i * m + j] * xs[i * m + j])))

entry flat_points [n][m] (xss: [n][m]f32): [n]f32 =
  map f32.sum (unflatten (tabulate (n * m) (\p -> xss[p / m, p % m] * xss[p / m, p % m])))

entry zipped [n][m] (xss: [n][m]f32): [n]f32 =
  map (\xs -> reduce (+) 0 (map (\(x, y) -> x * y) (zip xs xs))) xss

entry of_records [n][m] (xss: [n][m]f32): [n]f32 =
  map (\xs -> (reduce (\x y -> {sum = x.sum + y.sum}) {sum = 0} (map (\x -> {sum = x * x}) xs)).sum)
      xss

entry swapped_operator [n][m] (xss: [n][m]f32): [n]f32 =
  map (\xs -> reduce_comm (\x y -> y + x) 0 (map2 (*) xs xs)) xss

entry looped [n][m] (xss: [n][m]f32): [n]f32 =
  map (\xs -> loop sum = 0 for x in xs do sum + x * x) xss

entry sliced [n][m] (xss: [n][m]f32): [n]f32 =
  tabulate n (\i -> let xs = xss[i, 0:m] in f32.sum (map2 (*) xs xs))
