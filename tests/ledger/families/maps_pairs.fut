-- Maps over pairs, as arrays of points have them.

-- sizes turned: n=1; n=65537; n=10000000; n=211
entry turned [n] (xs: [n]f32) (ys: [n]f32): ([n]f32, [n]f32) =
  unzip (map2 (\x y -> (0.6 * x - 0.8 * y, 0.8 * x + 0.6 * y)) xs ys)

-- sizes nearest_corner: n=1,m=1000000; n=1000,m=1000; n=1000000,m=1; n=101,m=103; n=31,m=37
-- sizes nearest_corner: n=31,m=0
entry nearest_corner [n][m] (xs: [n]f32) (ys: [m]f32): [n][m](i32, f32) =
  map (\x -> map (\y -> if x < y then (0, y - x) else (1, x - y)) ys) xs
