-- Jacobi steps of the heat equation in a box: seven points, the faces of the box stay as they are.
--
-- What to look at: a map nest of three levels; the tests for the faces and the bounds of the array
-- ask the same.
-- ==
-- input { 2 0.2f32 0.1f32 [[[0.2f32, -0.6f32, -0.1f32, 0.2f32], [-0.4f32, 0.4f32, -0.2f32,
--   0.8f32], [-0.6f32, 0.3f32, -0.8f32, -0.7f32]], [[0f32, 0f32, 0f32, 0f32], [0.7f32, 0f32,
--   -0.3f32, 0.9f32], [0.7f32, -0.3f32, -0.6f32, -0.5f32]], [[-0.6f32, 0f32, 0.1f32, 0.3f32],
--   [0.8f32, 0.8f32, 0.1f32, 0.2f32], [-0.8f32, -0.4f32, 0.9f32, 0.8f32]]] }
-- output { [[[0.2f32, -0.6f32, -0.1f32, 0.2f32], [-0.4f32, 0.4f32, -0.2f32, 0.8f32], [-0.6f32,
--   0.3f32, -0.8f32, -0.7f32]], [[0f32, 0f32, 0f32, 0f32], [0.7f32, 0.142f32, 0.016999995f32,
--   0.9f32], [0.7f32, -0.3f32, -0.6f32, -0.5f32]], [[-0.6f32, 0f32, 0.1f32, 0.3f32], [0.8f32,
--   0.8f32, 0.1f32, 0.2f32], [-0.8f32, -0.4f32, 0.9f32, 0.8f32]]] }
-- random input { 2 0.16666667f32 0.02777778f32 [5][7][33]f32 }
-- auto output
-- "cube" notest random input { 100 0.16666667f32 0.02777778f32 [128][128][128]f32 }
-- "large" notest random input { 100 0.16666667f32 0.02777778f32 [64][512][512]f32 }
-- "flat" notest random input { 100 0.16666667f32 0.02777778f32 [3][64][64]f32 }

entry main [l][m][n] (iterations: i32) (centre: f32) (around: f32)
                     (grid: [l][m][n]f32): [l][m][n]f32 =
  loop a = grid for _i < iterations do
    tabulate_3d l m n (\i j k ->
      if i > 0 && i < l - 1 && j > 0 && j < m - 1 && k > 0 && k < n - 1
      then around * (a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k]
                     + a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1])
           - centre * a[i, j, k]
      else a[i, j, k])
