def f (xs: []i32): i32 = reduce (+) xs
