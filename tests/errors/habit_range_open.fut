entry main (xs: []i32) = loop acc = 0 for i in 0..10 do acc + xs[i]
