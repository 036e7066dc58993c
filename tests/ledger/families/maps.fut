-- Maps over flat arrays: few operations, and many, for each element.

-- sizes axpy: n=0; n=1; n=1009; n=100000; n=20000000
entry axpy [n] (xs: [n]f32) (ys: [n]f32): [n]f32 = map2 (\x y -> 2.5 * x + y) xs ys

-- sizes bytes: n=1; n=100003; n=20000000; n=211
entry bytes [n] (xs: [n]u8) (ys: [n]u8): [n]u8 = map2 (\x y -> (x ^ y) >> 1) xs ys

-- sizes heavy: n=1; n=4099; n=1000000; n=211
entry heavy [n] (xs: [n]f64): [n]f64 =
  map (\x -> loop y = x for _i < 64 do 0.5 * (y + f64.sin y)) xs
