-- Transpositions of matrices, of elements of several sizes, and of three levels.

-- sizes floats: n=1,m=10000000; n=3163,m=3163; n=10000000,m=1; n=1000000,m=10; n=211,m=13
-- sizes floats: n=10,m=1000000; n=0,m=5
entry floats [n][m] (xss: [n][m]f32): [m][n]f32 = map id (transpose xss)

-- sizes bytes: n=4096,m=4096; n=1000000,m=16; n=16,m=1000000; n=31,m=37; n=31,m=0
entry bytes [n][m] (xss: [n][m]u8): [m][n]u8 = map id (transpose xss)

-- sizes doubles: n=2048,m=2048; n=500000,m=8; n=31,m=37; n=1,m=211
entry doubles [n][m] (xss: [n][m]f64): [m][n]f64 = map id (transpose xss)

-- sizes inner: n=1,m=2000,k=2000; n=1000,m=64,k=64; n=500000,m=4,k=4; n=5,m=7,k=11; n=7,m=13,k=11
entry inner [n][m][k] (xs: [n][m][k]f32): [n][k][m]f32 = map transpose xs

-- sizes outer: n=200,m=200,k=200; n=3000,m=1000,k=3; n=7,m=13,k=11; n=5,m=3,k=1
entry outer [n][m][k] (xs: [n][m][k]i16): [m][n][k]i16 = map id (transpose xs)
