def again (n: i32) (f: i32 -> i32) (x: i32): i32 = if n == 0 then x else 1 + again (n - 1) (f >-> f) x
