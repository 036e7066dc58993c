def f (xs: [n]i32): i64 = n
