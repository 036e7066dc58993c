-- Points that take a different number of steps each, as in pictures of Mandelbrot's set.

-- sizes picture: n=1,m=1000000,limit=100; n=1000,m=1000,limit=200; n=31,m=37,limit=20
-- sizes picture: n=31,m=37,limit=3; n=3,m=0,limit=9; n=13,m=11,limit=7
entry picture [n][m] (limit: i64) (xs: [n]f32) (ys: [m]f32): [n][m]i32 =
  map (\x -> map (\y ->
    let (cx, cy) = (2.5 * x - 2, 2 * y - 1)
    let (_, _, steps) =
      loop (a, b, k) = (0f32, 0f32, 0i32) while a * a + b * b < 4 && i64.i32 k < limit do
        (a * a - b * b + cx, 2 * a * b + cy, k + 1)
    in steps) ys) xs
