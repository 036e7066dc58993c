entry main (xs: []i32) = update xs 0 5
