-- Many small products of matrices.

-- sizes small: b=100000,n=4; b=10000,n=16; b=1000,n=64; b=1,n=512; b=7,n=5; b=1,n=17
entry small [b][n] (xs: [b][n][n]f32) (ys: [b][n][n]f32): [b][n][n]f32 =
  map2 (\xss yss -> map (\x -> map (\y -> f32.sum (map2 (*) x y)) (transpose yss)) xss) xs ys

-- sizes shared: b=100000,n=4; b=10000,n=16; b=1000,n=64; b=3,n=5; b=1,n=17
entry shared [b][n] (xs: [b][n][n]f64) (yss: [n][n]f64): [b][n][n]f64 =
  map (\xss -> map (\x -> map (\y -> f64.sum (map2 (*) x y)) (transpose yss)) xss) xs
