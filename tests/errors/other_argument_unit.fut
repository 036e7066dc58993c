entry main [n] (xs: [n]f32): f32 = xs |> f32.sum()
