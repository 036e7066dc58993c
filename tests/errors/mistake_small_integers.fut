entry g [n] (xs: [n]u8): i64 = i64.sum (map (\c -> if c >= '0' && c <= '9' then c - '0' else 0) xs)
entry h (): []u8 = "a" + "b"
