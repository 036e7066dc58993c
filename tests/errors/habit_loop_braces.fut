entry main (n: i32) = loop i = 0 while i < n { i + 1 }
