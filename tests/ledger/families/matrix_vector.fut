-- A matrix by a vector, from either side, and many small ones.

-- sizes right: n=1,m=5000000; n=16,m=500000; n=4096,m=4096; n=1000000,m=16; n=5000000,m=1
-- sizes right: n=37,m=41; n=4,m=0
entry right [n][m] (xss: [n][m]f32) (ys: [m]f32): [n]f32 =
  map (\xs -> f32.sum (map2 (*) xs ys)) xss

-- sizes left: n=16,m=500000; n=4096,m=4096; n=1000000,m=16; n=31,m=37; n=31,m=0
entry left [n][m] (xss: [n][m]f32) (ys: [n]f32): [m]f32 =
  map (\xs -> f32.sum (map2 (*) xs ys)) (transpose xss)

-- sizes batched: b=1,n=2000; b=1000,n=64; b=100000,n=8; b=5,n=7; b=1,n=17
entry batched [b][n] (xs: [b][n][n]f64) (ys: [b][n]f64): [b][n]f64 =
  map2 (\xss y -> map (\x -> f64.sum (map2 (*) x y)) xss) xs ys
