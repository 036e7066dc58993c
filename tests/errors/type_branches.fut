def f (x: i32) (y: f32) = if x > 0 then x else y
