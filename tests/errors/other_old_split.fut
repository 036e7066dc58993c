entry main [n] (xs: [n]i32): []i32 = (split 2 xs).0
