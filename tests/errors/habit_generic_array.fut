entry main (xs: Array<f32>) = xs
