def f (n: i32) (xs: [n]i32): i32 = xs[0]
