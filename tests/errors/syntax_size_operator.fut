def f [n-1] (xs: [n]i32): i64 = n
