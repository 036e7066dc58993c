entry main (a: f32): f32 = a * 1e-5 + .5
