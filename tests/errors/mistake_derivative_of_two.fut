entry g (x: f32) = jvp (\x y -> x * y) x 1
entry h (x: f32) = vjp2 (\x -> x * x) x 1 + 1
