entry main (x: i32) = let x : i32 := 2 in x
