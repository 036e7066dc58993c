def gauss (sigma: f32) (d: f32): f32 =
  f32.exp -(d * d) / (2 * sigma * sigma)

def behind (x: f32) (c: f32): f32 = 1 + f32.exp -x / c

def second (x: f32) (c: f32): f32 = f32.max c -(x + 1)

def called (x: f32): f32 = f32.exp -f32.sqrt x
