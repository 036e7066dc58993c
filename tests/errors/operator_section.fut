def f (+: i32) (x: i32): i32 = (+ x) 1
