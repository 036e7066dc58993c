def f (xs: []i32): []i32 = filter (\x -> x % 2) xs
