def f (x: int): double = 2
