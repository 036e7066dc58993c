def days [n] (cold: [n]bool) = i64.sum cold
def mean [n] (cold: [n]bool) = f32.sum cold / f32.i64 n
def any [n] (xs: [n]i32) = or xs
