-- Products of matrices: one meaning, many spellings.

entry rows_and_columns [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 =
  map (\row -> map (\col -> f32.sum (map2 (*) row col)) (transpose b)) a

entry indices [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 =
  tabulate_2d n p (\i j -> f32.sum (tabulate m (\k -> a[i, k] * b[k, j])))

entry zipped [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 =
  map (\row -> map (\col -> reduce (+) 0 (map (\(x, y) -> x * y) (zip row col))) (transpose b)) a

entry flat_points [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 =
  unflatten (tabulate (n * p) (\q ->
    let i = q / p
    let j = q % p
    in f32.sum (map2 (*) a[i] b[:, j])))

entry of_records [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 =
  let dot (pairs: [m]{left: f32, right: f32}) =
    (reduce (\x y -> {sum = x.sum + y.sum}) {sum = 0}
            (map (\pair -> {sum = pair.left * pair.right}) pairs)).sum
  in map (\row -> map (\col -> dot (map2 (\left right -> {left, right}) row col)) (transpose b)) a

entry flat_arrays [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 =
  let a = flatten a
  let b = flatten b
  in tabulate_2d n p (\i j -> f32.sum (tabulate m (\k -> a[i * m + k] * b[k * p + j])))

entry looped [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 =
  tabulate_2d n p (\i j -> loop sum = 0 for k < m do sum + a[i, k] * b[k, j])

entry columns_first [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 =
  transpose (map (\col -> map (\row -> f32.sum (map2 (*) row col)) a) (transpose b))
