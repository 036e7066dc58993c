entry main (x: i64): f32 = f32.i32 x
