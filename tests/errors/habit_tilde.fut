entry main (x: i32) = ~x + not x
