entry main (x: i32) = if x > 0 then 1; else 2
