entry h (n: i64) =
  loop (a, b) = (0, 1) for i < n do b, a + b
