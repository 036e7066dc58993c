entry main (h: i64) (w: i64) (xs: [h * w]f32): [h][w]f32 = unflatten h w xs
