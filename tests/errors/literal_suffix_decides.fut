def sum_of (n: i64) (x: f64) = loop s = 0i64 for i < n do s + x
def both (n: i64) (x: f64) = loop (k, s) = (0i64, 0i32) for i < n do (k + i, s + x)
def twice (x: f64) = 2i32 * x
def shifted (i: i64) = 1i32 + i
def branch (x: f64) = if x > 0 then 0f32 else x
