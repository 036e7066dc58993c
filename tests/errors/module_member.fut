module vec = { def zero = 0i32 }
def f: i32 = vec.one
