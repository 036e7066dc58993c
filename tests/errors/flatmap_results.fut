entry main [n] (ks: [n]i64): i64 = i64.sum (flatmap' (\k -> iota k) ks)
