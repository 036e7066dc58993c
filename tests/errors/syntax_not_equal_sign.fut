def f (x: i32): bool = x /= 0
