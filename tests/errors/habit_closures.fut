def ends [n] (rates: [n]f64) (starts: [n]f64): [n]f64 = map2 (|r, s| r * s) rates starts

def typed [n] (xs: [n]f32): [n]f32 = map (|x: f32| x + 1) xs

def several [n] (xs: [n]f32): f32 = reduce (|x: f32, y: f32| x + y) 0 xs

def ignored [n] (xs: [n]f32): [n]f32 = map (|_| 1) xs

def borrowed [n] (xs: [n]f32): f32 = reduce (|a, &b| a + b) 0 xs

def named [n] (xs: [n]f32): f32 =
  let add = |x, y| x + y
  in reduce add 0 xs

def nothing (n: i64): [n]i64 =
  let one = || 1
  in map one (iota n)
