def f (x: i32): i32 = g x + 1

def g (x: i32): i32 = x * 2
