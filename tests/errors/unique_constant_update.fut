def table: [3]i32 = [1, 2, 3]
def f (x: i32): [3]i32 = table with [0] = x
