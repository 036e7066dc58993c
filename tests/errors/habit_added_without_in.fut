def f (x: i32) = let s = x
  s += 1
