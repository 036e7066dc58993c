entry main (xs: []i32): []i32 = #[inlin] map (+ 1) xs
