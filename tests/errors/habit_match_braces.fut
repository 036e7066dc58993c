entry main (x: i32) = match x { 1 => 2, _ => 3 }
