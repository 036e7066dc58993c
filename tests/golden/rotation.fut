-- stages: core opt flat
entry main [n][m] (xss: [n][m]i64): [m][n]i64 =
  transpose (map (rotate 1) xss)
