def add [n] (xs: [n]i32) (ys: [n]i32): [n]i32 = map2 (+) xs ys
def f [n] [m] (xs: [n]i32) (ys: [m]i32): i32 = i32.sum (add xs ys)
