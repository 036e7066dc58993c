def f (p: (i32, i32, i32)): i32 = let (a, b) = p in a + b
