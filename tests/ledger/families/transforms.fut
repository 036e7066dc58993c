-- Walsh's and Fourier's transforms: a loop of exchanges between pairs at doubling distances.

-- sizes walsh: n=1; n=1024; n=1000003; n=8388608; n=37
entry walsh [n] (xs: [n]i32): [n]i32 =
  let (xs, _) =
    loop (xs, d) = (xs, 1) while d < n do
      let exchanged i = if i / d % 2 == 1 then xs[i - d] - xs[i]
                        else if i + d < n then xs[i] + xs[i + d] else xs[i]
      in (map exchanged (iota n), 2 * d)
  in xs

-- sizes fourier: n=1,m=256; n=1000,m=64; n=50000,m=8; n=3,m=5; n=1,m=37
entry fourier [n][m] (re: [n][m]f32) (im: [n][m]f32): [n][m](f32, f32) =
  map2 (\a b ->
    map (\k ->
      reduce_comm (\(x, y) (u, v) -> (x + u, y + v)) (0, 0)
        (map3 (\x y j ->
                 let angle = -2 * f32.pi * f32.i64 (j * k % m) / f32.i64 m
                 let (c, s) = (f32.cos angle, f32.sin angle)
                 in (x * c - y * s, x * s + y * c)) a b (iota m))) (iota m)) re im
