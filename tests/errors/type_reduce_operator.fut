def f (xs: []i32): i32 = reduce (\x y -> x < y) 0 xs
