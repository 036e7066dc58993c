def f (n: i64): i64 = loop s = 0i64 for i in n do s + i
