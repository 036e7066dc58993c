entry main (x: f32): f32 = fabsf(x)
