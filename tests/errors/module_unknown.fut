module vec = { def zero = 0i32 }
open vect
