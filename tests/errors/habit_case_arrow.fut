entry main (x: i32) = match x case 1 => 2 case _ => 3
