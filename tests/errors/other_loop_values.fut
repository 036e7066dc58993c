entry main (n: i64): i64 = (loop (s = 0, t = 1) for i < n do (s + t, t * 2)).0
