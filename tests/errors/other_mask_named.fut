entry main [n] (xs: [n]f32) (mask: [n]bool): []f32 = xs[mask]
