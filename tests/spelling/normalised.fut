-- Rows less their mean, over the root of their variance.

def mean [m] (xs: [m]f32): f32 = f32.sum xs / f32.i64 m

entry nested [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\xs ->
    let mu = mean xs
    let var = mean (map (\x -> (x - mu) * (x - mu)) xs)
    in map (\x -> (x - mu) / f32.sqrt (var + 1)) xs) xss

entry steps [n][m] (xss: [n][m]f32): [n][m]f32 =
  let mus = map mean xss
  let vars = map2 (\xs mu -> mean (map (\x -> (x - mu) * (x - mu)) xs)) xss mus
  in map3 (\xs mu var -> map (\x -> (x - mu) / f32.sqrt (var + 1)) xs) xss mus vars

entry centred [n][m] (xss: [n][m]f32): [n][m]f32 =
  let centred = map (\xs -> let mu = mean xs in map (\x -> x - mu) xs) xss
  let vars = map (\xs -> mean (map (\x -> x * x) xs)) centred
  in map2 (\xs var -> map (\x -> x / f32.sqrt (var + 1)) xs) centred vars

entry indices [n][m] (xss: [n][m]f32): [n][m]f32 =
  let mus = tabulate n (\i -> f32.sum (tabulate m (\j -> xss[i, j])) / f32.i64 m)
  let vars = tabulate n (\i ->
    f32.sum (tabulate m (\j -> let d = xss[i, j] - mus[i] in d * d)) / f32.i64 m)
  in tabulate_2d n m (\i j -> (xss[i, j] - mus[i]) / f32.sqrt (vars[i] + 1))

entry replicated [n][m] (xss: [n][m]f32): [n][m]f32 =
  let spread v = transpose (replicate m v)
  let mus = spread (map mean xss)
  let vars = spread (map2 (\xs ms -> mean (map2 (\x mu -> (x - mu) * (x - mu)) xs ms)) xss mus)
  in map3 (map3 (\x mu var -> (x - mu) / f32.sqrt (var + 1))) xss mus vars

entry flat_points [n][m] (xss: [n][m]f32): [n][m]f32 =
  let mus = map mean xss
  let vars = map2 (\xs mu -> mean (map (\x -> (x - mu) * (x - mu)) xs)) xss mus
  in unflatten (tabulate (n * m) (\p ->
       (xss[p / m, p % m] - mus[p / m]) / f32.sqrt (vars[p / m] + 1)))
