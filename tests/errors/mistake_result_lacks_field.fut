type vec3 = {x: f32, y: f32, z: f32}
def add (a: vec3) (b: vec3) = {x = a.x + b.x, y = a.y + b.y}
entry f [n] (xs: [n]f32) =
  let vs = map (\x -> {x, y = x, z = 0}) xs
  in (reduce add {x = 0, y = 0, z = 0} vs).x
