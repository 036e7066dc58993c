entry main (xs: []f32) (i: f32) = xs[i]
