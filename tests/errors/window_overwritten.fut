entry main [n] (xs: *[n]f32): [][3]f32 =
  let windows = lift.slide 3 1 xs
  let windows[0, 1] = 5
  in windows
