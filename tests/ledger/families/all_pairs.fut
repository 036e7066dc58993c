-- All pairs: forces between bodies, and the number of near neighbours.

-- sizes forces: n=1; n=1000; n=10007; n=50000; n=37
entry forces [n] (xs: [n]f32) (ys: [n]f32) (ms: [n]f32): ([n]f32, [n]f32) =
  unzip (map2 (\x y ->
    reduce_comm (\(a, b) (c, d) -> (a + c, b + d)) (0, 0)
                (map3 (\x' y' m ->
                         let (dx, dy) = (x' - x, y' - y)
                         let r = dx * dx + dy * dy + 0.01
                         let s = m / (r * f32.sqrt r)
                         in (s * dx, s * dy)) xs ys ms)) xs ys)

-- sizes near: n=1,m=1000000; n=3000,m=3000; n=1000000,m=1; n=37,m=41; n=31,m=37
entry near [n][m] (xs: [n]f64) (ys: [m]f64): [n]i32 =
  map (\x -> i32.sum (map (\y -> i32.bool (f64.abs (x - y) < 0.1)) ys)) xs
