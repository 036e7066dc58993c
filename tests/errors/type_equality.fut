def f (x: i32) (y: f32): bool = x == y
