entry main (x: f32) (y: f32) = f32.max x, y
