def g (limit: f32): (f32, f32) =
  loop (x, y) = (1, 1) while (x < limit) && y > 0:
    (x * 2, y - 1)
