-- Three-dimensional convolution of a volume with a large filter.
--
-- What to look at: the same as in `conv2d`, with one more dimension of points and of sums.
-- ==
-- input { [[[1f32, 2f32], [3f32, 4f32]], [[5f32, 6f32], [7f32, 8f32]]]
--         [[[1f32, 2f32], [0f32, 0f32]]] }
-- output { [[[5f32]], [[17f32]]] }
-- random input { [7][8][11]f32 [3][2][4]f32 }
-- auto output
-- "small" notest random input { [63][63][63]f32 [32][32][32]f32 }
-- "medium" notest random input { [127][127][127]f32 [64][64][64]f32 }
-- "large" notest random input { [255][255][255]f32 [128][128][128]f32 }

def sum = reduce (+) 0f32

entry main [a][b][c][p][q][r] (volume: [a][b][c]f32) (filter: [p][q][r]f32): [][][]f32 =
  tabulate_3d (a - p + 1) (b - q + 1) (c - r + 1) (\i j k ->
    sum (tabulate p (\u ->
      sum (tabulate q (\v ->
        sum (tabulate r (\w -> volume[i + u, j + v, k + w] * filter[u, v, w])))))))
