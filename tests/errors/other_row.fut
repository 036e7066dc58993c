entry main [n][m] (xss: [n][m]f64): [m]f64 = xss(0, :)
