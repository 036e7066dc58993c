entry main (n: i64) = loop s = 0 for i = 0 to n do s + i
