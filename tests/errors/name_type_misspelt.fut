type point = {x: f32, y: f32}
def norm (p: pont): f32 = p.x + p.y
