entry main (x: f64): f64 = x * 2f32
