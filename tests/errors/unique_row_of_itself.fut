def f [n] (xss: *[n][n]i32): [n][n]i32 = xss with [0] = xss[1]
