entry main [n] (xs: [n]f32): f32 = xs[0] + foo + bar xs (\foe -> foe + baz + foo)
