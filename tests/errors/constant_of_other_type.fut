def largest [n] (xs: [n]f32) = reduce f32.max i32.lowest xs
def area (r: f64) = r * r * f32.pi
def limit (x: i16) = i16.min i32.highest x
