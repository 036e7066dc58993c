-- Filters and partitions.

-- sizes positive: n=0; n=1; n=100003; n=10000000
entry positive [n] (xs: [n]f32): []f32 = filter (> 0.5) xs

-- sizes even: n=1; n=100003; n=10000000; n=211
entry even [n] (xs: [n]u8): []u8 = filter (\x -> x % 2 == 0) xs

-- sizes parts: n=1; n=100003; n=5000000; n=211
entry parts [n] (xs: [n]i64): ([]i64, []i64) = partition (\x -> x < 0) xs

-- sizes kept: n=1,m=5000000; n=2000,m=2000; n=500000,m=8; n=31,m=37; n=3,m=0
entry kept [n][m] (xss: [n][m]i32): [n]i64 = map (\xs -> i64.sum (map (i64.bool <-< (> 0)) xs)) xss
