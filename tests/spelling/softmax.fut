-- Exponentials of rows, over their sums.

entry nested [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\xs ->
    let top = f32.maximum xs
    let es = map (\x -> f32.exp (x - top)) xs
    let total = f32.sum es
    in map (/ total) es) xss

entry steps [n][m] (xss: [n][m]f32): [n][m]f32 =
  let tops = map f32.maximum xss
  let ess = map2 (\xs top -> map (\x -> f32.exp (x - top)) xs) xss tops
  let totals = map f32.sum ess
  in map2 (\es total -> map (/ total) es) ess totals

entry indices [n][m] (xss: [n][m]f32): [n][m]f32 =
  let tops = tabulate n (\i -> f32.maximum (tabulate m (\j -> xss[i, j])))
  let totals = tabulate n (\i -> f32.sum (tabulate m (\j -> f32.exp (xss[i, j] - tops[i]))))
  in tabulate_2d n m (\i j -> f32.exp (xss[i, j] - tops[i]) / totals[i])

entry zipped [n][m] (xss: [n][m]f32): [n][m]f32 =
  let shifted = map (\(xs, top) -> map (\x -> x - top) xs) (zip xss (map f32.maximum xss))
  in map (\xs -> let es = map f32.exp xs in map2 (/) es (replicate m (f32.sum es))) shifted

entry composed [n][m] (xss: [n][m]f32): [n][m]f32 =
  let less_top [k] (xs: [k]f32) = let top = reduce f32.max (-f32.inf) xs in map (\x -> x - top) xs
  let share [k] (es: [k]f32) = let total = reduce (+) 0 es in map (\e -> e / total) es
  in xss |> map less_top |> map (map f32.exp) |> map share

entry flat_exponentials [n][m] (xss: [n][m]f32): [n][m]f32 =
  let tops = map f32.maximum xss
  let flat = map2 (\x p -> f32.exp (x - tops[p / m])) (flatten xss) (iota (n * m))
  in map (\es -> let total = f32.sum es in map (/ total) es) (unflatten flat)
