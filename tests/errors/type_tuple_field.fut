def f (p: (i32, f32)): i32 = p.2
