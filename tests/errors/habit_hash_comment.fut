entry main (xs: []f32) = # comment
  xs
