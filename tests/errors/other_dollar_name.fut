entry main (x: f32): f32 = 2 * $x
