def scale (in: []f32): []f32 = map (* 2) in
