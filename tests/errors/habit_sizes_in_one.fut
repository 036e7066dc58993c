entry main (xs: [n,m]i32) = xs
