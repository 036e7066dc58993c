entry main (xs: []f32) = map(x => x + 1) xs
