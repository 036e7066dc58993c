def clamp (x: i32): i32 = if x > 10 10 else x
