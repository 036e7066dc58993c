type point = {x: f32, y: f32}
def origin: point = {x = 0}
