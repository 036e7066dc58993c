entry main [n] (xs: [n]f32): [n]f32 = map (function(x) x + 1) xs
