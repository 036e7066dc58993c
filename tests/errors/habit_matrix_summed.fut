entry main (a: [][]f32) = f32.sum a
