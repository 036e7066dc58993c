def f (xs: []i32) (x: f32): i32 = xs[x]
