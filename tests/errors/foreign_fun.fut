entry main [n] (xs: [n]f32): [n]f32 = map (fun x -> x * 2) xs
