def at [n] (xs: [n]f32) = map (\i -> xs[i]) [0..<n]
def sum_to (n: i64) = loop s = 0 for i in [1...n] do s + i
def weighted [n] (xs: [n]f32) = map2 (\i x -> f32.i64 i * x) [0..<n] xs
