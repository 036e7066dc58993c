-- A step of a five-point stencil whose borders are the nearest cells inside.

def new (centre: f32) (north: f32) (south: f32) (west: f32) (east: f32): f32 =
  0.5 * centre + 0.125 * (north + south + west + east)

entry indices [n][m] (xss: [n][m]f32): [n][m]f32 =
  tabulate_2d n m (\i j ->
    new xss[i, j] xss[i64.max 0 (i - 1), j] xss[i64.min (n - 1) (i + 1), j]
        xss[i, i64.max 0 (j - 1)] xss[i, i64.min (m - 1) (j + 1)])

entry branches [n][m] (xss: [n][m]f32): [n][m]f32 =
  tabulate_2d n m (\i j ->
    let at i j = xss[if i < 0 then 0 else if i < n then i else n - 1,
                     if j < 0 then 0 else if j < m then j else m - 1]
    in new (at i j) (at (i - 1) j) (at (i + 1) j) (at i (j - 1)) (at i (j + 1)))

entry mapped_indices [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\i -> map (\j ->
    new xss[i, j] xss[i64.max 0 (i - 1), j] xss[i64.min (n - 1) (i + 1), j]
        xss[i, i64.max 0 (j - 1)] xss[i, i64.min (m - 1) (j + 1)]) (iota m)) (iota n)

entry flat_points [n][m] (xss: [n][m]f32): [n][m]f32 =
  unflatten (tabulate (n * m) (\p ->
    let i = p / m
    let j = p % m
    in new xss[i, j] xss[i64.max 0 (i - 1), j] xss[i64.min (n - 1) (i + 1), j]
           xss[i, i64.max 0 (j - 1)] xss[i, i64.min (m - 1) (j + 1)]))

entry shifted_arrays [n][m] (xss: [n][m]f32): [n][m]f32 =
  let north = map (\i -> xss[i64.max 0 (i - 1)]) (iota n)
  let south = map (\i -> xss[i64.min (n - 1) (i + 1)]) (iota n)
  let west = map (\xs -> map (\j -> xs[i64.max 0 (j - 1)]) (iota m)) xss
  let east = map (\xs -> map (\j -> xs[i64.min (m - 1) (j + 1)]) (iota m)) xss
  in map5 (map5 new) xss north south west east

entry zipped_rows [n][m] (xss: [n][m]f32): [n][m]f32 =
  let rows = map (\i -> (xss[i64.max 0 (i - 1)], xss[i], xss[i64.min (n - 1) (i + 1)])) (iota n)
  in map (\(north, row, south) ->
       map (\j -> new row[j] north[j] south[j] row[i64.max 0 (j - 1)] row[i64.min (m - 1) (j + 1)])
           (iota m)) rows

entry flat_array [n][m] (xss: [n][m]f32): [n][m]f32 =
  let xs = flatten xss
  let at i j = xs[i * m + j]
  in tabulate_2d n m (\i j ->
    new (at i j) (at (i64.max 0 (i - 1)) j) (at (i64.min (n - 1) (i + 1)) j)
        (at i (i64.max 0 (j - 1))) (at i (i64.min (m - 1) (j + 1))))
