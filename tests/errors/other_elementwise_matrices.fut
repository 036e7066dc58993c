entry main [n][m] (a: [n][m]f64) (b: [n][m]f64): [n][m]f64 = a + b
