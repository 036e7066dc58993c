entry main (x: bool) = x + 1
