def power (x: i32) (n: i32): i32 = if n == 0 then 1 else x * power x (n - 1)
