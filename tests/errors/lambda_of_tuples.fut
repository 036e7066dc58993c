def iou (p: (f32, f32)) (q: (f32, f32)): f32 = p.0 - q.1

def all_ious [n] (a: [n]f32) (b: [n]f32): [n]f32 =
  map (\p q -> iou p q) (zip (zip a b) (zip b a))

def sums [n] (a: [n]f32) (b: [n]f32): [n]f32 = map (\p q -> p + q) (zip a b)

def kept [n] (a: [n]f32) (b: [n]i32): [](f32, i32) = filter (\_ q -> q > 0) (zip a b)

def chosen [n] (a: [n]f32) (b: [n]i32): [n]f32 =
  map (\p q -> if q > 0 then p else 1) (zip a b)

def is_over (p: f32) (q: i32): bool = q > 0 && p > 0

def are_over [n] (a: [n]f32) (b: [n]i32): bool = all (\p q -> is_over p q) (zip a b)
