entry main [n] (xs: [n]f32): [n]f32 = map (x -> fx + 1) xs
