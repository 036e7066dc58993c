module vec { def zero = 0i32 }
