entry main [n] (xs: [n]f32): bool = length xs <> 3
