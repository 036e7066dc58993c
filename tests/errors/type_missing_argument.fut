def f (xs: []i32): []i32 = map (\x y -> x + y) xs
