entry main [n] (xs: [n]i32): [n]i32 = map2 (\x y z -> x + y * z) xs xs xs
