entry main [n] (xs: [n]f32): [n]f32 = map (\x -> x + 1 xs)
