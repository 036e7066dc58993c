-- stages: opt
-- A reduction of all elements of a nest of maps goes row by row; not where others need the nest.
entry main [k][n][m] (xss: [k][n]f32) (ys: [m]f32): [k]f32 =
  map (\xs -> f32.maximum (flatten (map (\x -> map (* x) ys) xs))) xss

entry cube [k][n][m] (ws: [k]f32) (xs: [n]f32) (ys: [m]f32): f32 =
  f32.sum (flatten_3d (tabulate_3d k n m (\i j l -> ws[i] * xs[j] - ys[l])))

entry shared [n][m] (xs: [n]f32) (ys: [m]f32): ([n][m]f32, f32) =
  let products = map (\x -> map (* x) ys) xs
  in (products, f32.sum (flatten products))
