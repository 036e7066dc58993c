def mask: u32 = 0xFFFFFFFFUL
def small: f64 = 1e-3f
def either (a: bool) (b: bool): bool = a | b
def doubled (x: f32): f32 = x << 1
def fresh (x: i32): bool = x is not 0
def at (xs: *f32): f32 = xs[0]
def counted (x: i32): i32 = let y = x++ in y
def vector (v: float3): f32 = v.0
def sized: i32 = let a[3] = [1, 2, 3] in a[0]
static const float G = 9.81f;
