entry main (x: i32) = x == 3 & x == 4
