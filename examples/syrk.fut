-- A symmetric product and a sum of matrices: `alpha A A^T + beta C`.
--
-- What to look at: both factors are rows of the same matrix, so what neighbouring work-items read
-- lies far apart unless a work-group shares it.
-- ==
-- input { 2f32 [[1f32, 2f32], [3f32, 4f32]] 1f32 [[1f32, 1f32], [1f32, 1f32]] }
-- output { [[11f32, 23f32], [23f32, 51f32]] }
-- random input { 0.5f32 [9][33]f32 2f32 [9][9]f32 }
-- auto output
-- "small" notest random input { 0.5f32 [1024][1024]f32 2f32 [1024][1024]f32 }
-- "medium" notest random input { 0.5f32 [2048][2048]f32 2f32 [2048][2048]f32 }
-- "large" notest random input { 0.5f32 [4096][4096]f32 2f32 [4096][4096]f32 }

entry main [n][m] (alpha: f32) (as: [n][m]f32) (beta: f32) (cs: [n][n]f32): [n][n]f32 =
  map2 (\xs row ->
    map2 (\ys c -> alpha * reduce (+) 0 (map2 (*) xs ys) + beta * c) as row) as cs
