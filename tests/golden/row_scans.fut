-- stages: opt flat
entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
  map (\xs -> scan (+) 0 (map (* 2) xs)) xss
