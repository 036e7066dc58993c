struct body {mass: f32}
entry main (m: f32): f32 = m
