-- Reductions of the columns of a matrix, spelt by a transposition and by an operator of rows.

-- sizes columns: n=1,m=10000000; n=3163,m=3163; n=10000000,m=1; n=1000000,m=10; n=211,m=13
-- sizes columns: n=3,m=31
entry columns [n][m] (xss: [n][m]f32): [m]f32 = map f32.sum (transpose xss)

-- sizes added: n=1,m=10000000; n=3163,m=3163; n=10000000,m=1; n=10,m=1000000; n=7,m=0; n=31,m=37
entry added [n][m] (xss: [n][m]i32): [m]i32 = reduce_comm (map2 (+)) (replicate m 0) xss
