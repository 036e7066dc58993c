def samples (n: i64) (h: f64): [n]f64 =
  map (\i -> h * f64.i64 i) (0...n)

def from_one (n: i64): [n]i64 = map (* 2) (1..<n)

def named (n: i64) (xs: [n]i64): []i64 =
  let is = 0...n
  in map2 (+) xs is

def both (n: i64): [n]i64 = map2 (+) (0...n) (0..<n)

def beyond (n: i64): [n]i64 = 1...n+1

-- No range explains these sizes.
def differences [n] (xs: [n]f32): [n]f32 =
  let ns = map f32.i64 (0...n)
  in map2 (\x y -> x - y * f32.sum ns) (tail xs) (init xs)
