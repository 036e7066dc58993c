entry main [n] (xs: [n]f32): f32 =
  loop s = 0 for i in 0:n do s + xs[i]
