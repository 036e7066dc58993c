-- Dot products: of two long vectors, of small numbers, and of the rows of two matrices.

-- sizes dot: n=1; n=100003; n=10000000; n=211
entry dot [n] (xs: [n]f32) (ys: [n]f32): f32 = f32.sum (map2 (*) xs ys)

-- sizes narrow: n=1; n=100003; n=20000000; n=211
entry narrow [n] (xs: [n]i8) (ys: [n]i8): i32 =
  i32.sum (map2 (\x y -> i32.i8 x * i32.i8 y) xs ys)

-- sizes rows: n=1,m=5000000; n=2000,m=2000; n=500000,m=8; n=37,m=41; n=31,m=37
entry rows [n][m] (xss: [n][m]f32) (yss: [n][m]f32): [n]f32 =
  map2 (\xs ys -> f32.sum (map2 (*) xs ys)) xss yss
