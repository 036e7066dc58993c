def f (x: f32): f32 = math.sqrt x
