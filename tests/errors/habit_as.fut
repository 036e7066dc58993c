entry main (x: i64) = x as f32
