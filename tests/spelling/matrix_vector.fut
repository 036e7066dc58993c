-- A matrix times a vector.

entry mapped [n][m] (a: [n][m]f32) (x: [m]f32): [n]f32 =
  map (\row -> f32.sum (map2 (*) row x)) a

entry indices [n][m] (a: [n][m]f32) (x: [m]f32): [n]f32 =
  tabulate n (\i -> f32.sum (tabulate m (\j -> a[i, j] * x[j])))

entry zipped [n][m] (a: [n][m]f32) (x: [m]f32): [n]f32 =
  map (\row -> reduce (+) 0 (map (\(p, q) -> p * q) (zip row x))) a

entry flat_array [n][m] (a: [n][m]f32) (x: [m]f32): [n]f32 =
  let flat = flatten a in tabulate n (\i -> f32.sum (tabulate m (\j -> flat[i * m + j] * x[j])))

entry scaled_columns [n][m] (a: [n][m]f32) (x: [m]f32): [n]f32 =
  let scaled = map2 (\col c -> map (* c) col) (transpose a) x
  in map f32.sum (transpose scaled)

entry sum_of_columns [n][m] (a: [n][m]f32) (x: [m]f32): [n]f32 =
  reduce (map2 (+)) (replicate n 0) (map2 (\col c -> map (* c) col) (transpose a) x)

entry product [n][m] (a: [n][m]f32) (x: [m]f32): [n]f32 =
  let b = transpose [x]
  let c = map (\row -> map (\col -> f32.sum (map2 (*) row col)) (transpose b)) a
  in c[:, 0]

entry multiplied_first [n][m] (a: [n][m]f32) (x: [m]f32): [n]f32 =
  let c = map2 (map2 (*)) a (replicate n x) in map f32.sum c

entry flat_map [n][m] (a: [n][m]f32) (x: [m]f32): [n]f32 =
  let c = map2 (*) (flatten a) (flatten (replicate n x)) in map f32.sum (unflatten c)

entry looped [n][m] (a: [n][m]f32) (x: [m]f32): [n]f32 =
  map (\row -> loop s = 0 for j < m do s + row[j] * x[j]) a
