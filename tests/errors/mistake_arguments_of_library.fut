def windows [n] (xs: [n]f32) = lift.slide xs 3 1
def margin [n] (xs: [n]f32) = lift.pad 1 1 xs 0
def counts [n] (k: i64) (is: [n]i64): [k]i32 = hist (+) k is (map (const 1) is)
def places [n] (is: [n]i32): [n]i32 = scatter (replicate n 0) is (replicate n 1)
def gradient [n] (xs: [n]f64): [n]f64 = jvp f64.product xs (replicate n 1)
def differences [n] (xs: [n]f32) = map2 (-) xs[1:] xs[:-1]
def hidden (f32: f64): f64 = f32.sqrt 2
