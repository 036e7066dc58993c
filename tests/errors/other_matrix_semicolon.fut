entry main (x: f32): [2][2]i32 = [1, 2; 3, 4]
