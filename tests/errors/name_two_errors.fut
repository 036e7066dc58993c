def f (x: i32): i32 = y
def g (x: i32): i32 = z + f x
def h (x: i32): i32 = f x + g x
