-- stages: opt flat imp
entry main [n] (a: f32) (xs: [n]f32) (ys: [n]f32): [n]f32 =
  map2 (+) (map (* a) xs) ys
