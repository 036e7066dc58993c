entry main (n: i32): [n]i32 = map i32.i64 (iota (i64.i32 n))
