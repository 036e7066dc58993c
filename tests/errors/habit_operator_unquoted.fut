entry main (xs: []i32) = reduce + 0 xs
