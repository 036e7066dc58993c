entry main [n] (xs: [n]f32): [n]f32 = map f32.max 0 xs
