entry main (a: f32): f32 = a + 2.
