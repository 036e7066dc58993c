entry main (x: f32): [2]f32 = c(1, x)
