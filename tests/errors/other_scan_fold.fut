entry all_positive [n] (xs: [n]f32): [n]bool = scan (\b x -> b && x > 0) true xs
