entry main [n] (xs: [n]i32): []i32 = xs + [0]
