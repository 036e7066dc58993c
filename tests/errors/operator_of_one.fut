def (+++) (x: i32): i32 = x
def f (x: i32): i32 = x +++ x
