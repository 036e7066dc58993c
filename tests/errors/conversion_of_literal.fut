entry main (a: f32): f32 = a + f32 3
