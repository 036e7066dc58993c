entry main [n] (xs: [n]i32): [n]i32 = List.map (\x -> x + 1) xs
