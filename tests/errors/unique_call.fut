def clear [n] (xs: *[n]i32): *[n]i32 = xs with [0] = 0
def f [n] (xs: *[n]i32): ([n]i32, [n]i32) = (clear xs, xs)
