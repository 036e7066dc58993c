def dot [n] (xs: [n]f32) (ys: [n]f32): f32 = f32.sum (map2 (*) xs ys)
def layer [i][o] (x: [i]f32) (weights: [o][i]f32) = map (dot x) (transpose weights)
def sums [n][m] (xss: [n][m]f64) = reduce (map2 (+)) (replicate n 0) xss
def scaled [n][m] (xss: [n][m]f64) (by: [n]f64) = map (\row -> map2 (*) row by) xss
