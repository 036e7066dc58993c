entry main (x: i32) = int y = 2 in y
