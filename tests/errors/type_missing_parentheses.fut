def double (x: i32): i32 = 2 * x
def f (x: i32): i32 = double double x
