entry main [n] (as: [n][n]f32) (bs: [n][n]f32): [n][n]f32 = matmul as bs
