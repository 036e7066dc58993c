def add (x: i32, y: i32): i32 = x + y

entry main (a: i32): i32 = add a 1
