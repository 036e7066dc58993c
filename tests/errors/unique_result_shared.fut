def f [n] (xs: *[n]i32): (*[n]i32, *[n]i32) = (xs, xs)
