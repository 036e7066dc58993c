-- Scans of the rows and of the columns of a matrix, and of the rows of several matrices.

-- sizes rows: n=1,m=10000000; n=16,m=1000000; n=3163,m=3163; n=1000000,m=16; n=10000000,m=1
-- sizes rows: n=211,m=13; n=5,m=0
entry rows [n][m] (xss: [n][m]f32): [n][m]f32 = map (scan (+) 0) xss

-- sizes columns: n=1,m=5000000; n=2000,m=2000; n=5000000,m=1; n=31,m=37; n=31,m=0
entry columns [n][m] (xss: [n][m]i32): [m][n]i32 = map (scan (+) 0) (transpose xss)

-- sizes deep: n=1,m=1,k=5000000; n=100,m=100,k=500; n=1000000,m=1,k=5; n=7,m=13,k=11; n=7,m=13,k=0
entry deep [n][m][k] (xs: [n][m][k]i64): [n][m][k]i64 = map (map (scan i64.max i64.lowest)) xs
-- sizes doubles: n=1,m=10000000; n=20,m=500000; n=2000,m=5000; n=1000000,m=10; n=31,m=37; n=3,m=0
entry doubles [n] [m] (xss: [n][m]f64): [n][m]f64 = map (scan (+) 0) xss
