module one = { def value = 1i32 }
module two = one i32
