def f (*: f32) (x: f32): f32 = x * x
