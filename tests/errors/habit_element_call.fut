entry main (xs: []i32) (i: i32): i32 = xs(i)
