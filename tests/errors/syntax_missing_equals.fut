def area (r: f32): f32
  f32.pi * r * r
