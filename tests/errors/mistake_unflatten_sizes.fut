def image [n] (pixels: [n]f32) (h: i64) (w: i64) = unflatten h w pixels
