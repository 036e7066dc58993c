entry main (xs: []i32) (ys: []i32) = map2 (\(x, y) -> x + y) xs ys
