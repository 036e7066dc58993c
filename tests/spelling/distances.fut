-- Squared distances of all pairs of points.

def square (x: f32) = x * x

entry mapped [n][m][d] (ps: [n][d]f32) (qs: [m][d]f32): [n][m]f32 =
  map (\p -> map (\q -> f32.sum (map2 (\x y -> square (x - y)) p q)) qs) ps

entry indices [n][m][d] (ps: [n][d]f32) (qs: [m][d]f32): [n][m]f32 =
  tabulate_2d n m (\i j -> f32.sum (tabulate d (\k -> square (ps[i, k] - qs[j, k]))))

entry zipped [n][m][d] (ps: [n][d]f32) (qs: [m][d]f32): [n][m]f32 =
  map (\p -> map (\q -> reduce (+) 0 (map (\(x, y) -> square (x - y)) (zip p q))) qs) ps

entry flat_pairs [n][m][d] (ps: [n][d]f32) (qs: [m][d]f32): [n][m]f32 =
  unflatten (map (\ij -> f32.sum (map2 (\x y -> square (x - y)) ps[ij / m] qs[ij % m]))
                 (iota (n * m)))

entry columns [n][m][d] (ps: [n][d]f32) (qs: [m][d]f32): [n][m]f32 =
  transpose (map (\q -> map (\p -> f32.sum (map2 (\x y -> square (x - y)) p q)) ps) qs)

entry differences [n][m][d] (ps: [n][d]f32) (qs: [m][d]f32): [n][m]f32 =
  let each = map (\p -> map (\q -> map2 (-) p q) qs) ps
  in map (map (\v -> f32.sum (map square v))) each

entry replicated [n][m][d] (ps: [n][d]f32) (qs: [m][d]f32): [n][m]f32 =
  let left = map (replicate m) ps
  let right = replicate n qs
  in map2 (map2 (\p q -> f32.sum (map2 (\x y -> square (x - y)) p q))) left right

entry looped [n][m][d] (ps: [n][d]f32) (qs: [m][d]f32): [n][m]f32 =
  map (\p -> map (\q -> loop s = 0 for k < d do s + square (p[k] - q[k])) qs) ps
