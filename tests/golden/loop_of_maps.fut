-- stages: opt flat
entry main [n][m] (k: i64) (xss: [n][m]f32): [n][m]f32 =
  map (\xs -> loop xs for _i < k do map (\x -> x * 0.5 + 1) xs) xss
