def mean [n] (xs: [n]f32) = f32.sum xs / i64.f32 n
def floats (n: i64) = map f32.i32 (iota n)
