-- A histogram for each row.

-- sizes counts: k=16,n=1,m=10000000; k=16,n=3000,m=3000; k=16,n=500000,m=16; k=5,n=31,m=37
-- sizes counts: k=4096,n=1000,m=10000; k=4096,n=10,m=1000000; k=5,n=13,m=37; k=3,n=4,m=0
entry counts [n][m] (k: i64) (iss: [n][m]i32): [n][k]i32 =
  map (\is -> reduce_by_index (replicate k 0) (+) 0 (map (\i -> i64.i32 i % i64.max 1 k) is)
                              (replicate m 1)) iss

-- sizes sums: k=16,n=1,m=5000000; k=16,n=2000,m=2000; k=16,n=500000,m=8; k=2048,n=2000,m=2000
-- sizes sums: k=5,n=13,m=37; k=300,n=2,m=5; k=3,n=2,m=0
entry sums [n][m] (k: i64) (iss: [n][m]i32) (xs: [m]f64): [n][k]f64 =
  map (\is -> reduce_by_index (replicate k 0) (+) 0 (map (\i -> i64.i32 i % i64.max 1 k) is) xs)
      iss
