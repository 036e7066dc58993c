def doubled [n] (xs: [n]i32): [n]i32 = xs |> (* 2)
def twice [n] (xs: [n]i32): i32 = xs |> map (+ 1) |> reduce (+) 0 xs
def evens (n: i64): []i64 = filter \x -> x % 2 == 0 (iota n)
def sums [n] (ps: [n](f32, f32)): [n]f32 = map (+) ps
def zipped [n] (xs: [n]f32) (ys: [n]f32): [n]f32 = map (\(x, y) -> x + y) xs ys
