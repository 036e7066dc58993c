def f (x: i32): i32 = x
def g (x: i32): i32 = x + 1
def f (x: i32): i32 = x + 2
