entry main (xs: []i32) = concat xs ys where ys = xs
