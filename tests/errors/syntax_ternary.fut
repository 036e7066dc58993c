def sign (x: i32): i32 = x < 0 ? -1 : 1
