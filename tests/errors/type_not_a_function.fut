def f (x: i32) (y: i32): i32 = 2 x + y
