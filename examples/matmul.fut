-- Matrix product: two maps around a dot product.
--
-- What to look at: `runelift dump --stage tree examples/matmul.fut` shows five code versions and
-- four thresholds (Breddam 2019, figure 1.6).  Which is best depends on the shape: a row per
-- work-item, a row per work-group, an element per work-item, an element per work-group, or a
-- multiplication per work-item.
-- ==
-- input { [[1f32, 2f32], [3f32, 4f32]] [[5f32, 6f32], [7f32, 8f32]] }
-- output { [[19f32, 22f32], [43f32, 50f32]] }
-- input { [[1f32, 2f32, 3f32]] [[4f32], [5f32], [6f32]] }
-- output { [[32f32]] }
-- input { empty([2][0]f32) empty([0][3]f32) }
-- output { [[0f32, 0f32, 0f32], [0f32, 0f32, 0f32]] }
-- random input { [17][33]f32 [33][9]f32 }
-- "square" notest random input { [256][256]f32 [256][256]f32 }
-- "thin" notest random input { [8][65536]f32 [65536][8]f32 }
-- "tall" notest random input { [16384][32]f32 [32][8]f32 }
-- "tiny" notest random input { [16][16]f32 [16][16]f32 }

def matmul [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 =
  map (\xs -> map (\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose yss)) xss

entry main [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 =
  matmul xss yss
