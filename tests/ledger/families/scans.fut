-- Scans of flat arrays.

-- sizes ints: n=0; n=1; n=1009; n=100000; n=20000000
entry ints [n] (xs: [n]i32): [n]i32 = scan (+) 0 xs

-- sizes bytes: n=1; n=100003; n=20000000; n=211
entry bytes [n] (xs: [n]u8): [n]u8 = scan u8.max 0 xs

-- sizes doubles: n=1; n=100003; n=10000000; n=211
entry doubles [n] (xs: [n]f64): [n]f64 = scan (+) 0 (map (* 0.5) xs)
