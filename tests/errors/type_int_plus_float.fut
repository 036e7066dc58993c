def f (x: f32) (n: i64): f32 = x * n
