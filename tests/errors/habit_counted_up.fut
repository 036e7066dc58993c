def steps (n: i64): i64 =
  loop s = 0 for i < n do
    s++
