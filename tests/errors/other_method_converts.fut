entry main [n] (xs: [n]i64): [n]f32 = xs.astype(np.float32)
