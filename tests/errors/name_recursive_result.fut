def digits (n: i32) = if n < 10 then [n] else digits (n / 10) ++ [n % 10]
