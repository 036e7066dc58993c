-- Reductions of the rows of a matrix.

-- sizes sums: n=1,m=20000000; n=16,m=1000000; n=1000,m=1000; n=4096,m=4096
-- sizes sums: n=1000000,m=16; n=10000000,m=1; n=211,m=13; n=0,m=5; n=5,m=0
entry sums [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss

-- sizes tops: n=1,m=20000000; n=4096,m=4096; n=1000000,m=16; n=31,m=37; n=31,m=0
entry tops [n][m] (xss: [n][m]u8): [n]u8 = map u8.maximum xss

-- sizes norms: n=1,m=5000000; n=2048,m=2048; n=500000,m=8; n=31,m=37; n=31,m=0
entry norms [n][m] (xss: [n][m]f64): [n]f64 =
  map (\xs -> f64.sqrt (f64.sum (map (\x -> x * x) xs))) xss
