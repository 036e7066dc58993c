entry main [n] (xs: [n]f32): [n]f32 = vjp (\ys -> map f32.exp ys) xs 1
