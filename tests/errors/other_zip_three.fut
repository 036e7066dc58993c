entry main [n] (xs: [n]f32) (ys: [n]f32) (ms: [n]f32) = zip xs ys ms
