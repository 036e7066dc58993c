def pads [n] (xs: [n]i32): []i32 =
  let length = i64.max (length xs) 2
  let extend [k] (zs: [k]i32) = zs ++ replicate (length - length zs) 0
  in extend xs

def parameter [n] (xs: [n]f32) (map: f32): []f32 = map (+ 1) xs

def norm (x: f32): f32 = f32.abs x

def own (x: f32): f32 =
  let norm = norm x
  in norm x

def of_library [n] (spread: f32) (xs: [n]f32) (is: [n]i64): []f32 = spread 3 0 is xs

-- It hides no function.
def scale = 2f32

def scaled (x: f32): f32 = scale x
