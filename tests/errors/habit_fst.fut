entry main (p: (f32, f32)) = fst p
