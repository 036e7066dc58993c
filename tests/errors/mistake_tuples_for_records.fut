type point = {x: f32, y: f32}
def norm (p: point) = f32.sqrt (p.x**2 + p.y**2)
entry f [n] (xs: [n]f32) (ys: [n]f32): [n]f32 =
  map norm (zip xs ys)
