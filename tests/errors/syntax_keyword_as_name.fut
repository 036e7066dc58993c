def f (type: i32): i32 = type + 1
