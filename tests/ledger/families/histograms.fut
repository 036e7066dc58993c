-- Histograms of flat arrays with few bins and with many.

def bin (k: i64) (i: i32): i64 = i64.i32 i % i64.max 1 k

-- sizes counts: k=1,n=10000000; k=16,n=10000000; k=256,n=10000000; k=10007,n=10000000
-- sizes counts: k=1000000,n=10000000; k=1000000,n=100; k=7,n=0; k=1,n=1
entry counts [n] (k: i64) (is: [n]i32): [k]i32 =
  reduce_by_index (replicate k 0) (+) 0 (map (bin k) is) (replicate n 1)

-- sizes sums: k=16,n=5000000; k=4096,n=5000000; k=1000000,n=5000000; k=7,n=211; k=3,n=0
entry sums [n] (k: i64) (is: [n]i32) (xs: [n]f32): [k]f32 =
  reduce_by_index (replicate k 0) (+) 0 (map (bin k) is) xs

-- sizes tops: k=16,n=5000000; k=4096,n=5000000; k=1000000,n=5000000; k=7,n=211; k=3,n=0
entry tops [n] (k: i64) (is: [n]i32) (xs: [n]i64): [k]i64 =
  reduce_by_index (replicate k i64.lowest) i64.max i64.lowest (map (bin k) is) xs

-- sizes marks: k=16,n=10000000; k=1000000,n=10000000; k=7,n=211; k=3,n=0; k=1000,n=1
entry marks [n] (k: i64) (is: [n]i32) (xs: [n]u8): [k]u8 =
  reduce_by_index (replicate k 0) u8.max 0 (map (bin k) is) xs
