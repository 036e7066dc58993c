def area (r: f32): f32 = f32.pi * (r * r

def half (x: f32): f32 = x / 2
