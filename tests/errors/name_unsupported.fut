def f (x: f32): f32 = vjp (\y -> y * y) x 1
