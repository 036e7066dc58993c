entry main (x: f32) = Math.sqrt x
