module M = { def f (x: i32) = x }
def main (x: i32) = M::f x
