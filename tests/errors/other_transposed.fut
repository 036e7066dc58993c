entry main [n][m] (xss: [n][m]f64): [m][n]f64 = xss'
