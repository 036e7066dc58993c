entry main [n] (xs: [n]i32): [n]i32 = map2 (\x -> x + 1) xs
