-- Maps over rows, which share an element of another array, and over three levels.

-- sizes scaled: n=1,m=10000000; n=3163,m=3163; n=10000000,m=1; n=211,m=13; n=0,m=5; n=5,m=0
entry scaled [n][m] (xss: [n][m]f32) (ks: [n]f32): [n][m]f32 =
  map2 (\xs k -> map (* k) xs) xss ks

-- sizes shifted: n=1,m=10000000; n=3163,m=3163; n=10000000,m=1; n=31,m=37; n=31,m=0
entry shifted [n][m] (xss: [n][m]i16) (ks: [m]i16): [n][m]i16 = map (map2 (+) ks) xss

-- sizes deep: n=1,m=1,k=5000000; n=200,m=200,k=200; n=5000000,m=1,k=1; n=1000,m=5000,k=1
-- sizes deep: n=7,m=13,k=11; n=7,m=13,k=0
entry deep [n][m][k] (xs: [n][m][k]f64) (as: [n][m]f64) (bs: [k]f64): [n][m][k]f64 =
  map2 (map2 (\row a -> map2 (\x b -> a * x + b) row bs)) xs as
