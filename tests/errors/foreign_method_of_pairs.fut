entry main [n] (xs: [n](f32, i32)): f32 = xs.max()
