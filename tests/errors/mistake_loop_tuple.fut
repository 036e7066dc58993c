entry g (n: i64) =
  loop a = 0, b = 1 for i < n do (b, a + b)
