entry main (xs: []i32) (ys: []i32) = map (+) xs ys
