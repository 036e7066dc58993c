-- Windows of an array with weights, in one dimension and in two.

-- sizes weighted: n=100000,k=3; n=5000000,k=9; n=200000,k=400; n=101,k=7; n=5,k=5
entry weighted [n][k] (xs: [n]f32) (weights: [k]f32): []f32 =
  map (\i -> f32.sum (map2 (*) weights xs[i:i + k])) (iota (n - k + 1))

-- sizes rows: n=1,m=2000000,k=5; n=1000,m=1000,k=5; n=100000,m=16,k=5; n=200,m=500,k=100
-- sizes rows: n=3,m=37,k=5; n=2,m=5,k=5
entry rows [n][m][k] (xss: [n][m]f32) (weights: [k]f32): [n][]f32 =
  map (\xs -> map (\i -> f32.sum (map2 (*) weights xs[i:i + k])) (iota (m - k + 1))) xss

-- sizes boxes: n=2000,m=2000; n=10,m=400000; n=13,m=11; n=3,m=3
entry boxes [n][m] (xss: [n][m]i16): [][]i16 =
  map (\i -> map (\j -> i16.maximum (flatten xss[i:i + 3, j:j + 3])) (iota (m - 2))) (iota (n - 2))
