-- C = alpha A B + beta C, the matrix product of the linear algebra libraries (BLAS).
--
-- What to look at: what follows the product of a row and a column belongs to the same kernel, so
-- no intermediate matrix is written.
-- ==
-- input { 2f32 [[1f32, 2f32, 3f32], [4f32, 5f32, 6f32]] [[1f32, 0f32], [0f32, 1f32], [1f32,
--   1f32]] 0.5f32 [[2f32, 4f32], [6f32, 8f32]] }
-- output { [[9f32, 12f32], [23f32, 26f32]] }
-- input { 1f32 empty([2][0]f32) empty([0][1]f32) 2f32 [[1f32], [3f32]] }
-- output { [[2f32], [6f32]] }
-- random input { 0.5f32 [17][40]f32 [40][9]f32 2f32 [17][9]f32 }
-- auto output
-- "1024" notest random input { 0.5f32 [1024][992]f32 [992][1056]f32 2f32 [1024][1056]f32 }
-- "long" notest random input { 0.5f32 [16][262144]f32 [262144][16]f32 2f32 [16][16]f32 }
-- "tall" notest random input { 0.5f32 [65536][64]f32 [64][16]f32 2f32 [65536][16]f32 }

def dot [k] (xs: [k]f32) (ys: [k]f32): f32 = reduce (+) 0 (map2 (*) xs ys)

entry main [m][k][n] (alpha: f32) (a: [m][k]f32) (b: [k][n]f32) (beta: f32)
                     (c: [m][n]f32): [m][n]f32 =
  map2 (\row cs -> map2 (\column x -> alpha * dot row column + beta * x) (transpose b) cs) a c
