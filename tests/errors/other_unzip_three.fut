entry main [n] (xs: [n](i32, i32, i32)): ([n]i32, [n]i32, [n]i32) = unzip xs
