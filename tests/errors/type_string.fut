def f (x: i32): []u8 = "x = " + x
