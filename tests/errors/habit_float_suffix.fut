entry main (x: f32) = x * 1.5f
