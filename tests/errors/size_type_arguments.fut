type matrix [n] [m] = [n][m]f32
def f [n] (a: matrix [n]): i64 = n
