def closer (i: i64, x: f32) (j: i64, y: f32): (i64, f32) = if x < y then (i, x) else (j, y)

def nearest [n] (ds: [n]f32): i64 = (reduce closer (-1, f32.inf) (zip ds (iota n))).0

def neutral [n] (ds: [n]f32): i64 = (reduce closer (f32.inf, -1) (zip (iota n) ds)).0

def volume (w: i64, h: f32, full: bool): f32 = if full then f32.i64 w * h else 0

def call (w: i64) (h: f32): f32 = volume (true, h, w)

def result (w: i64) (h: f32): (i64, f32) = (h, w)

-- Several orders fit.
def several (w: i64) (h: f32): (i64, f32, f32) = (h, w, h)
