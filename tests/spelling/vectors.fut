-- The sum of points in three dimensions, kept as rows.

entry vectors [n] (ps: [n][3]f32): [3]f32 =
  reduce (map2 (+)) [0, 0, 0] (map (map (* 2)) ps)

entry replicated [n] (ps: [n][3]f32): [3]f32 =
  reduce_comm (\p q -> map2 (+) p q) (replicate 3 0) (map (\p -> map (* 2) p) ps)

entry tuples [n] (ps: [n][3]f32): [3]f32 =
  let (x, y, z) = reduce (\(a, b, c) (d, e, f) -> (a + d, b + e, c + f)) (0, 0, 0)
                         (map (\p -> (p[0] * 2, p[1] * 2, p[2] * 2)) ps)
  in [x, y, z]

entry of_records [n] (ps: [n][3]f32): [3]f32 =
  let sum = reduce (\p q -> {x = p.x + q.x, y = p.y + q.y, z = p.z + q.z}) {x = 0, y = 0, z = 0}
                   (map (\p -> {x = p[0] * 2, y = p[1] * 2, z = p[2] * 2}) ps)
  in [sum.x, sum.y, sum.z]

entry components [n] (ps: [n][3]f32): [3]f32 =
  map (\xs -> f32.sum (map (* 2) xs)) (transpose ps)

entry indices [n] (ps: [n][3]f32): [3]f32 =
  tabulate 3 (\d -> f32.sum (tabulate n (\i -> ps[i, d] * 2)))

entry separate [n] (ps: [n][3]f32): [3]f32 =
  [f32.sum (map (* 2) ps[:, 0]), f32.sum (map (* 2) ps[:, 1]), f32.sum (map (* 2) ps[:, 2])]
