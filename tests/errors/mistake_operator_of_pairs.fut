def product [n] (xs: [n](f64, f64)) =
  reduce (\((a, b), (c, d)) -> (a * c - b * d, a * d + b * c)) (1, 0) xs
