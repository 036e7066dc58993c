def f (x: i32): i32 =

def g (x: i32): i32 = x
