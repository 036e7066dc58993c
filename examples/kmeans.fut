-- k-means clustering by Lloyd's iteration.
--
-- What to look at: the nearest centre of a point is a small reduction inside a map; the new
-- centres are histograms over the points.
-- ==
-- input { 2i64 10 [[0f32, 0f32], [10f32, 10f32], [0f32, 1f32], [10f32, 11f32]] }
-- output { [[0f32, 0.5f32], [10f32, 10.5f32]] 2i32 }
-- random input { 3i64 5 [40][4]f32 }
-- auto output
-- "small" notest random input { 5i64 20 [4096][34]f32 }
-- "large" notest random input { 5i64 20 [100000][34]f32 }

def distance [d] (a: [d]f32) (b: [d]f32): f32 =
  f32.sum (map2 (\x y -> (x - y) * (x - y)) a b)

def nearest [k][d] (centres: [k][d]f32) (point: [d]f32): i64 =
  let better (i, x) (j, y) = if x < y || (x == y && i < j) then (i, x) else (j, y)
  in (reduce_comm better (k, f32.inf) (zip (iota k) (map (distance point) centres))).0

entry main [n][d] (k: i64) (limit: i32) (points: [n][d]f32): ([k][d]f32, i32) =
  let start = take k points
  let (centres, _, _, iterations) =
    loop (centres, clusters, changed, i) = (start, replicate n (-1), true, 0)
    while changed && i < limit do
      let clusters' = map (nearest centres) points
      let counts = reduce_by_index (replicate k 0f32) (+) 0 clusters' (replicate n 1)
      let sums = transpose
                   (map (\coordinate ->
                           reduce_by_index (replicate k 0f32) (+) 0 clusters' coordinate)
                        (transpose points))
      let centres' = map2 (\sum count -> map (/ f32.max 1 count) sum) sums counts
      let changed = reduce (||) false (map2 (!=) clusters clusters')
      in (centres', clusters', changed, i + 1)
  in (centres, iterations)
