entry main (x: i32) = 'ab'
