-- stages: core opt flat
entry main [n][m] (xss: [n][m]f32): [n]f32 =
  map (\xs -> reduce (+) 0 (map f32.sqrt xs)) xss
