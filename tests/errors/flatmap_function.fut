entry main [n] (ks: [n]i64) = flatmap (\k -> iota k) ks
