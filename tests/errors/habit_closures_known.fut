def ones (n: i64): [n]i64 = tabulate n (|| 1)

def sums [n] (xs: [n]f32) (ys: [n]f32): [n]f32 = map (|(r, s)| r + 1) (zip xs ys)

def moved [n] (xs: [n]f32): [n]f32 = map (move |x| x + 1) xs

def borrowed [n] (xs: [n]f32): [n]f32 = map (|&x| x + 1) xs
