-- Scatters to places that a formula gives, flat and in rows.

-- sizes reversed: n=0; n=1; n=100003; n=20000000
entry reversed [n] (xs: [n]f32): [n]f32 =
  scatter (replicate n 0) (map (\i -> n - 1 - i) (iota n)) xs

-- sizes spread: n=1; n=100003; n=10000000; n=211
entry spread [n] (xs: [n]u8): [n]u8 =
  scatter (replicate n 0) (map (\i -> if i < n / 2 then 2 * i else 2 * (i - n / 2) + 1) (iota n)) xs

-- sizes turned: n=1,m=5000000; n=2000,m=2000; n=500000,m=8; n=31,m=37; n=3,m=1
entry turned [n][m] (xss: [n][m]f64): [n][m]f64 =
  map (\xs -> scatter (replicate m 0) (map (\i -> (i + m / 3) % i64.max 1 m) (iota m)) xs) xss
