def sum (p: f32, q: f32): f32 = p + q

def fits (a: f32) (b: f32): f32 = sum a b

def inner (p: f32, q: (f32, f32)): f32 = p + q.0

def does_not_fit (a: f32) (b: f32): f32 = inner a b

def both (p: f32, q: f32) (r: (f32, f32)): f32 = p + q + r.0

def lacks_one (a: f32) (b: f32): f32 = both a b
