entry main (x: i32) = match x with 1 -> 2 | _ -> 3
