-- Loops whose number of iterations differs between points.

-- sizes known: n=1,m=10000000; n=3,m=5000; n=1000,m=1000; n=1000000,m=40; n=0,m=7; n=13,m=17
entry known [n][m] (ks: [n]i64) (xs: [m]f32): [n]f32 =
  map (\k -> loop s = 1 for i < k do s + f32.sum (map (\x -> x * s) xs)) ks

-- sizes vectors: n=1; n=13; n=1000; n=1000000
entry vectors [n] (ks: [n]f32): [n]f32 =
  map (\k -> let v = map (\c -> k + f32.i64 c) (iota 3) in f32.sum
               (loop v while f32.sum v > 2 do map (\x -> (x + 1 / (x + 1)) / 2) v)) ks

-- sizes lengths: n=1; n=13; n=1000; n=1000000
entry lengths [n] (ks: [n]i64): [n]i64 =
  map (\k -> (loop (x, s) = (k, 0) while x > 1 do
                (if x % 2 == 0 then x / 2 else 3 * x + 1,
                 s + i64.sum (map (\i -> i * x % 5) (iota (x % 7))))).1) ks
