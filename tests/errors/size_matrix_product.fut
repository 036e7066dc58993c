def matmul [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 =
  map (\row -> map (\col -> f32.sum (map2 (*) row col)) b) a
