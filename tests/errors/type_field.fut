type point = {x: f32, y: f32}
def f (p: point): f32 = p.x + p.z
