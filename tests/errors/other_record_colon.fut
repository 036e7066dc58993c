entry main (a: f32): f32 = {x: a}.x
