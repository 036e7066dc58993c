def f (xs: []i32): []i32 = map xs (\x -> x + 1)
