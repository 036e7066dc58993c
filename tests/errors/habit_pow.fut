entry main (x: f32) = f32.pow x 2
