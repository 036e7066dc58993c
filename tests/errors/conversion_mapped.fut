entry main [n] (xs: [n]i32): [n]f32 = map f32 xs
