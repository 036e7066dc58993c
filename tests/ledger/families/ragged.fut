-- Rows of different lengths: a sparse matrix by a vector, sums of numbers, and scans that are stored.

-- sizes csr: n=2000000,len=uniform:8,start=offsets,k=total,m=2000000
-- sizes csr: n=10000,len=equal:1000,start=offsets,k=total,m=10000
-- sizes csr: n=300000,len=geometric:256,start=offsets,k=total,m=300000
-- sizes csr: n=1000000,len=power:100000,start=offsets,k=total,m=1000000
-- sizes csr: n=100000,len=one:10000000,start=offsets,k=total,m=100000
-- sizes csr: n=1000000,len=empty:0,start=offsets,k=total,m=1000000
-- sizes csr: n=200,len=alternating:100000,start=offsets,k=total,m=200
-- sizes csr: n=4500,len=ascending:4500,start=offsets,k=total,m=4500
-- sizes csr: n=1000000,len=equal:8,start=offsets,k=total,m=300000
-- sizes csr: n=250000,len=equal:32,start=offsets,k=total,m=4000
-- sizes csr: n=250000,len=equal:32,start=offsets,k=total,m=6000000
-- sizes csr: n=250000,len=uniform:64,start=offsets,k=total,m=6000000
-- sizes csr: n=64,len=equal:100000,start=offsets,k=total,m=300000
-- sizes csr: n=13,len=power:9,start=offsets,k=total,m=3; n=7,len=one:19,start=offsets,k=total,m=5
entry csr [n][k][m] (start: [n]i64) (len: [n]i64) (cols: [k]i32) (vals: [k]f32) (v: [m]f32): [n]f32 =
  map2 (\o l -> f32.sum (map (\(c, x) -> x * v[i64.i32 c % m]) (zip cols vals)[o:o + l])) start len

-- sizes sums: n=2000000,len=uniform:8,start=offsets,k=total
-- sizes sums: n=10000,len=equal:1000,start=offsets,k=total
-- sizes sums: n=300000,len=geometric:256,start=offsets,k=total
-- sizes sums: n=1000000,len=power:100000,start=offsets,k=total
-- sizes sums: n=100000,len=one:10000000,start=offsets,k=total
-- sizes sums: n=1000000,len=empty:0,start=offsets,k=total
-- sizes sums: n=200,len=alternating:100000,start=offsets,k=total
-- sizes sums: n=4500,len=ascending:4500,start=offsets,k=total
-- sizes sums: n=250000,len=equal:32,start=offsets,k=total
-- sizes sums: n=62500,len=equal:128,start=offsets,k=total
-- sizes sums: n=2,len=equal:100000,start=offsets,k=total
-- sizes sums: n=64,len=equal:100000,start=offsets,k=total
-- sizes sums: n=11,len=geometric:30,start=offsets,k=total; n=6,len=one:23,start=offsets,k=total
entry sums [n][k] (start: [n]i64) (len: [n]i64) (xs: [k]f32): [n]f32 =
  map2 (\o l -> f32.sum xs[o:o + l]) start len

-- sizes squares: n=2000000,ks=uniform:8; n=10000,ks=equal:1000; n=300000,ks=geometric:256
-- sizes squares: n=1000000,ks=power:100000; n=100000,ks=one:10000000; n=1000000,ks=empty:0
-- sizes squares: n=200,ks=alternating:100000; n=4500,ks=ascending:4500
-- sizes squares: n=31,ks=geometric:40; n=5,ks=alternating:70
entry squares [n] (ks: [n]i64): [n]i64 = map (\k -> i64.sum (map (\i -> i * i) (iota k))) ks

-- sizes scanned: n=2000000,ks=uniform:8; n=10000,ks=equal:1000; n=300000,ks=geometric:256
-- sizes scanned: n=1000000,ks=power:100000; n=100000,ks=one:10000000; n=1000000,ks=empty:0
-- sizes scanned: n=200,ks=alternating:100000; n=4500,ks=ascending:4500
-- sizes scanned: n=29,ks=geometric:37; n=6,ks=alternating:50
entry scanned [n] (ks: [n]i64): [n]i64 =
  map (\k -> i64.maximum (scan (+) 0 (map (\i -> i * i % 7 - 3) (iota k)))) ks
