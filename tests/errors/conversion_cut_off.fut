def grid (n: i64) (h: f64) = map (\i -> (i + 1) * h) (iota n)
def small (n: i64) (x: f32) = n < x
def rounded (x: f64): i64 = 2 * x
def all [n] (xs: [n]f64): [n]i32 = map (* 2) xs
def above [n] (xs: [n]f32): i64 = reduce (\acc x -> if x > 1 then acc + 1 else acc) 0 xs
