entry main (n: i64): [n]i32 = iota n
