def evens [n] (xs: [n]i64) = filter (% 2 == 0) xs
def odd [n] (xs: [n]i64) = map (* 2 > 7) xs
