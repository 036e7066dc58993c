def f (xs: []i32): i64 = len xs
