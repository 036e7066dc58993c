entry main (x: f32): [2]f32 = [1 2]
