-- Products of two matrices.

-- sizes floats: n=1,m=4096,k=4096; n=1024,m=1024,k=1024; n=4096,m=1,k=4096; n=32,m=32,k=100000
-- sizes floats: n=2048,m=2048,k=16; n=37,m=41,k=43; n=3,m=0,k=5; n=3,m=5,k=0
entry floats [n][k][m] (xss: [n][k]f32) (yss: [k][m]f32): [n][m]f32 =
  map (\xs -> map (\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss

-- sizes doubles: n=512,m=512,k=512; n=16,m=16,k=65536; n=4096,m=64,k=64; n=7,m=13,k=11
-- sizes doubles: n=7,m=13,k=0
entry doubles [n][k][m] (xss: [n][k]f64) (yss: [k][m]f64): [n][m]f64 =
  map (\xs -> map (\ys -> f64.sum (map2 (*) xs ys)) (transpose yss)) xss

-- sizes bytes: n=1024,m=1024,k=1024; n=13,k=37,m=5; n=3000,k=300,m=30; n=16,k=100000,m=16
-- sizes bytes: n=3,m=5,k=0
entry bytes [n][k][m] (xss: [n][k]i8) (yss: [k][m]i8): [n][m]i32 =
  map (\xs -> map (\ys -> i32.sum (map2 (\x y -> i32.i8 x * i32.i8 y) xs ys)) (transpose yss)) xss
