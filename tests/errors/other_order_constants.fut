entry main (n: i64): [n]f32 = replicate 0f32 n
