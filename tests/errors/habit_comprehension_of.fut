def pairs [n][m] (xs: [n]i32) (ys: [m]i32) = [x + y for x in xs for y in ys]
def squares (n: i64) = [i * i for i in range(n)]
def positive [n] (xs: [n]i32) = [x for x in xs if x > 0]
