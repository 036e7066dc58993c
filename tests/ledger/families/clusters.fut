-- A step of k-means: the nearest of several centres for each point, and the new centres.

def nearest [k][d] (centres: [k][d]f32) (point: [d]f32): i64 =
  let distance c = f32.sum (map2 (\x y -> (x - y) * (x - y)) c point)
  let better (i, x) (j, y) = if x < y || (x == y && i < j) then (i, x) else (j, y)
  in (reduce_comm better (k, f32.inf) (zip (iota k) (map distance centres))).0

-- sizes assigned: n=1000000,k=5,d=2; n=100000,k=16,d=32; n=1000,k=1000,d=64; n=13,k=3,d=5
-- sizes assigned: n=211,k=1,d=2
entry assigned [n][k][d] (points: [n][d]f32) (centres: [k][d]f32): [n]i64 =
  map (nearest centres) points

-- sizes step: n=1000000,k=5,d=2; n=100000,k=16,d=32; n=1000,k=1000,d=64; n=13,k=3,d=5
-- sizes step: n=211,k=1,d=2
entry step [n][k][d] (points: [n][d]f32) (centres: [k][d]f32): [k][d]f32 =
  let found = map (nearest centres) points
  let counts = reduce_by_index (replicate k 0f32) (+) 0 found (replicate n 1)
  let sums = map (\xs -> reduce_by_index (replicate k 0f32) (+) 0 found xs) (transpose points)
  in map2 (\count sum -> map (/ f32.max 1 count) sum) counts (transpose sums)
