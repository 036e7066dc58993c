def f (x: i32): i32 = case 0 -> 1 case _ -> 2
