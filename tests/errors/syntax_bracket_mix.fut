def first (xs: []i32): i32 = (xs[0)]
