entry main (xs: *[]i32) = xs[0] <- 5
