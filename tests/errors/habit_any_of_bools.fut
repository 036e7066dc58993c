entry main (xs: []bool) = any xs
