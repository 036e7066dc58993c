entry main (a: f32): i64 = int(a + 1) + 1
