def f (x: i32): i32 = while x < 10 do x * 2
