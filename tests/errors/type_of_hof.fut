def twice 'a (f: a -> a) (x: a): a = f (f x)
def g (x: i32): bool = twice (> 0) x
