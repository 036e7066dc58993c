-- A symmetric product of two matrices: `alpha (A B^T + B A^T) + beta C`.
--
-- What to look at: a reduction over four rows at once, two of which are the point's row and two
-- its column.
-- ==
-- input { 1f32 [[1f32, 2f32], [3f32, 4f32]] [[1f32, 0f32], [0f32, 1f32]] 2f32
--         [[1f32, 0f32], [0f32, 1f32]] }
-- output { [[4f32, 5f32], [5f32, 10f32]] }
-- random input { 0.5f32 [9][33]f32 [9][33]f32 2f32 [9][9]f32 }
-- auto output
-- "small" notest random input { 0.5f32 [1024][1024]f32 [1024][1024]f32 2f32 [1024][1024]f32 }
-- "medium" notest random input { 0.5f32 [2048][2048]f32 [2048][2048]f32 2f32 [2048][2048]f32 }
-- "large" notest random input { 0.5f32 [4096][4096]f32 [4096][4096]f32 2f32 [4096][4096]f32 }

entry main [n][m] (alpha: f32) (as: [n][m]f32) (bs: [n][m]f32) (beta: f32)
                  (cs: [n][n]f32): [n][n]f32 =
  map3 (\xs us row ->
    map3 (\ys vs c ->
      alpha * reduce (+) 0 (map4 (\x v u y -> x * v + u * y) xs vs us ys) + beta * c)
      as bs row) as bs cs
