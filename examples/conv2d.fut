-- Two-dimensional convolution of an image with a large filter.
--
-- What to look at: a sum of sums in two maps.  A work-item that computes points below each other
-- loads a pixel once for all of them.
-- ==
-- input { [[1f32, 2f32, 3f32], [4f32, 5f32, 6f32], [7f32, 8f32, 9f32]] [[1f32, 0f32], [0f32, 1f32]] }
-- output { [[6f32, 8f32], [12f32, 14f32]] }
-- input { [[1f32, 2f32, 3f32], [4f32, 5f32, 6f32]] [[2f32]] }
-- output { [[2f32, 4f32, 6f32], [8f32, 10f32, 12f32]] }
-- random input { [19][23]f32 [4][5]f32 }
-- auto output
-- "small" notest random input { [767][767]f32 [256][256]f32 }
-- "medium" notest random input { [1279][1279]f32 [256][256]f32 }
-- "large" notest random input { [2303][2303]f32 [256][256]f32 }

def sum = reduce (+) 0f32

entry main [n][m][p][q] (image: [n][m]f32) (filter: [p][q]f32): [][]f32 =
  tabulate_2d (n - p + 1) (m - q + 1) (\i j ->
    sum (tabulate p (\k ->
      sum (tabulate q (\l -> image[i + k, j + l] * filter[k, l])))))
