entry main (x: i32) = var y = 2; y
