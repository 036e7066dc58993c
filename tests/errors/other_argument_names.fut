entry main [n][m] (xss: [n][m]f32): [m]f32 = f32.sum(xss, axis=0)
