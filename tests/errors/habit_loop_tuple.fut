entry main (n: i32) = loop (i, s) = (0, 0) while i < n do s + i
