def g [n] (xs: *[n]i32) (ys: [n]i32): [n]i32 = xs with [0] = ys[0]
def f [n] (xs: *[n]i32): [n]i32 = g xs xs
