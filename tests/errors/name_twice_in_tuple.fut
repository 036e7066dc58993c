def f (p: (i32, i32)): i32 = let (a, a) = p in a
