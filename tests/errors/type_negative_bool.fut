def f (x: bool): bool = -x
