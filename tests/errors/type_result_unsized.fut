def f (xs: []i32): i32 = map (+ 1) xs
