def f (x: i32): i32 = let (a, b) = x in a
