def f (xs: []i32): i32 = unsafe xs[0]
