def f (xs: *[]i32) (x: f32): []i32 = xs with [0] = x
