def f (c: bool) (x: i32): i32 = (if c then (+ 1) else (* 2)) x
