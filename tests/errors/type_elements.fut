def f (x: i32) = [x, x + 1, true]
