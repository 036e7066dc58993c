entry main (x: f32): f32 = f32.max(x, 0)
