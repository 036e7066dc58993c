def a (x: f32): f32 = f32.min 1.0f (x + 1)
def b (x: u32): u32 = x + 2u
def c (x: i64): i64 = i64.max 10L x
def d (x: f64): f64 = f64.max 1e-3d x
