def f (eps: f32 = 1e-6) (x: f32): f32 = x + eps
def g (x: f32) (count: i64 = 3): f32 = x * f32.i64 count
