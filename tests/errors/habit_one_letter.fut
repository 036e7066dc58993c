entry main (xs: []f32) = filter (x > 0) xs
