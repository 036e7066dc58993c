def f (xs: []i32): i32 =
  loop s = 0 for x in range(10): s + x
