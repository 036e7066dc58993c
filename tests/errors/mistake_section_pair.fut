def between [n] (xs: [n]i64) = filter (> 0 && < 5) xs
