entry main [n] (xs: [n]f32) (ys: [n]f32): [n]f32 = xs * ys
