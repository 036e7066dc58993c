-- k-means clustering by Newton's method: `jvp` of `vjp`.
--
-- What to look at: the second derivatives of the cost have only a diagonal, so one product with a
-- vector of ones has all of them.  A step divides the gradient by it: it is a step of Lloyd's.
-- ==
-- input { 2i64 3 [[0f32, 0f32], [10f32, 10f32], [0f32, 1f32], [10f32, 11f32]] }
-- output { 1f32 [[0f32, 0.5f32], [10f32, 10.5f32]] }
-- random input { 3i64 2 [40][4]f32 }
-- auto output
-- "small" notest random input { 5i64 1 [4096][34]f32 }
-- "large" notest random input { 5i64 1 [100000][34]f32 }

def square [d] (a: [d]f32) (b: [d]f32): f32 =
  f32.sum (map2 (\x y -> (x - y) * (x - y)) a b)

def total [n][k][d] (points: [n][d]f32) (centres: [k][d]f32): f32 =
  f32.sum (map (\point -> f32.minimum (map (square point) centres)) points)

def improved [n][k][d] (points: [n][d]f32) (centres: [k][d]f32): [k][d]f32 =
  let (gradient, diagonal) =
    jvp2 (\at -> vjp (total points) at 1) centres (replicate k (replicate d 1))
  in map3 (map3 (\centre g h -> if h == 0 then centre else centre - g / h))
          centres gradient diagonal

entry cost [n][k][d] (centres: [k][d]f32) (points: [n][d]f32): f32 = total points centres

entry main [n][d] (k: i64) (steps: i32) (points: [n][d]f32): (f32, [k][d]f32) =
  let centres = loop centres = take k points for _i < steps do improved points centres
  in (total points centres, centres)
