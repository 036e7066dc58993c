def f (x: i32) (n: i64): i64 = x + n
