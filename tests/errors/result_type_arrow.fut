def spaced (x: i32) -> i32 = x + 1
def joined [n] (p: [n]f64)-> f64 = f64.sum p
def of_array [n] (x: [n]i32)-> [n]i32 = x
def inner (x: i32): i32 =
  let g (y: i32)-> i32 = y
  in g x
def field (r: {x: f32}): f32 = (r)->x
