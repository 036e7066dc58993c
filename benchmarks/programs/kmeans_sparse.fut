-- k-means by Newton's method, with sparse points: derived by `jvp2` of `vjp`, and by hand.
--
-- Point i has the values from starts[i] on, counts[i] of them, at the coordinates `columns`.

def row_cost [m][k][d] (values: [m]f32) (columns: [m]i64) (centres: [k][d]f32) (lengths: [k]f32)
                       (start: i64) (count: i64): [k]f32 =
  map2 (\centre length ->
          length + loop sum = 0 for j < count do
                     let value = values[start + j]
                     in sum + value * (value - 2 * centre[columns[start + j]]))
       centres lengths

def squares [k][d] (centres: [k][d]f32): [k]f32 =
  map (\centre -> f32.sum (map (\x -> x * x) centre)) centres

def cost_of [n][m][k][d] (values: [m]f32) (columns: [m]i64) (starts: [n]i64) (counts: [n]i64)
                         (centres: [k][d]f32): f32 =
  let lengths = squares centres
  in f32.sum (map2 (\start count ->
                      f32.minimum (row_cost values columns centres lengths start count))
                   starts counts)

entry cost [n][m][k][d] (values: [m]f32) (columns: [m]i64) (starts: [n]i64) (counts: [n]i64)
                        (centres: [k][d]f32): f32 =
  cost_of values columns starts counts centres

entry derived [n][m][k][d] (values: [m]f32) (columns: [m]i64) (starts: [n]i64) (counts: [n]i64)
                           (centres: [k][d]f32): ([k][d]f32, [k][d]f32) =
  jvp2 (\at -> vjp (cost_of values columns starts counts) at 1) centres
       (replicate k (replicate d 1))

-- A value adds to the coordinate of the centre that is nearest to its point.
entry by_hand [n][m][k][d] (values: [m]f32) (columns: [m]i64) (starts: [n]i64) (counts: [n]i64)
                           (centres: [k][d]f32): ([k][d]f32, [k][d]f32) =
  let better (i: i64, x: f32) (j: i64, y: f32) =
    if x < y || (x == y && i < j) then (i, x) else (j, y)
  let lengths = squares centres
  let nearest start count =
    (reduce_comm better (k, f32.inf)
                 (zip (iota k) (row_cost values columns centres lengths start count))).0
  let clusters = map2 nearest starts counts
  let sizes = reduce_by_index (replicate k 0f32) (+) 0 clusters (replicate n 1)
  let heads = reduce_by_index (replicate m 0i64) (+) 0 starts (map (const 1) starts)
  let rows = map (\head -> head - 1) (scan (+) 0 heads)
  let places = map2 (\row column -> clusters[row] * d + column) rows columns
  let sums = unflatten (reduce_by_index (replicate (k * d) 0f32) (+) 0 places values)
  in (map3 (\size sum centre -> map2 (\s c -> 2 * (size * c - s)) sum centre) sizes sums centres,
      map (\size -> replicate d (2 * size)) sizes)
