def f (x: f32): bool = !x
