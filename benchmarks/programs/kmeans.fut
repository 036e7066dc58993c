-- k-means by Newton's method, dense: derived by `jvp2` of `vjp`, and by hand.

def square [d] (a: [d]f32) (b: [d]f32): f32 =
  f32.sum (map2 (\x y -> (x - y) * (x - y)) a b)

def cost_of [n][k][d] (points: [n][d]f32) (centres: [k][d]f32): f32 =
  f32.sum (map (\point -> f32.minimum (map (square point) centres)) points)

entry cost [n][k][d] (points: [n][d]f32) (centres: [k][d]f32): f32 = cost_of points centres

entry derived [n][k][d] (points: [n][d]f32) (centres: [k][d]f32): ([k][d]f32, [k][d]f32) =
  jvp2 (\at -> vjp (cost_of points) at 1) centres (replicate k (replicate d 1))

-- The gradient is twice the sum of centre minus point, over the points of each centre; the second
-- derivatives are twice the number of its points.
entry by_hand [n][k][d] (points: [n][d]f32) (centres: [k][d]f32): ([k][d]f32, [k][d]f32) =
  let better (i: i64, x: f32) (j: i64, y: f32) =
    if x < y || (x == y && i < j) then (i, x) else (j, y)
  let nearest point =
    (reduce_comm better (k, f32.inf) (zip (iota k) (map (square point) centres))).0
  let clusters = map nearest points
  let counts = reduce_by_index (replicate k 0f32) (+) 0 clusters (replicate n 1)
  let sums = transpose (map (reduce_by_index (replicate k 0f32) (+) 0 clusters)
                            (transpose points))
  in (map3 (\count sum centre -> map2 (\s c -> 2 * (count * c - s)) sum centre)
           counts sums centres,
      map (\count -> replicate d (2 * count)) counts)
