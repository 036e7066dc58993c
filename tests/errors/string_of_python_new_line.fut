entry main [n] (xs: [n]f32): [n]f32 = map (
 -> n + 1) xs
