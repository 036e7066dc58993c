-- Reads at random places, of elements and of rows.

-- sizes elements: n=1,k=1; n=1000,k=10000000; n=10000000,k=10000000; n=10000000,k=1000; n=13,k=211
entry elements [n][k] (xs: [n]f32) (is: [k]i32): [k]f32 =
  map (\i -> xs[i64.i32 i % n]) is

-- sizes rows: n=1000,m=1,k=5000000; n=10000,m=100,k=50000; n=10,m=500000,k=10; n=13,m=7,k=5
-- sizes rows: n=1,m=5,k=0
entry rows [n][m][k] (xss: [n][m]f32) (is: [k]i32): [k][m]f32 =
  map (\i -> xss[i64.i32 i % n]) is

-- sizes bytes: n=256,k=10000000; n=10000000,k=10000000; n=13,k=211; n=3,k=0
entry bytes [n][k] (xs: [n]u8) (is: [k]i32): [k]u8 = map (\i -> xs[i64.i32 i % n]) is

-- sizes boxes: b=1,p=100000; b=1000,p=100; b=27,p=1000; b=100000,p=3; b=7,p=5; b=0,p=5
entry boxes [b][p] (near: [b]i32) (xss: [b][p]f32): [b][p]f32 =
  map2 (\k xs -> map (\x -> let other = xss[i64.i32 k % b]
                            in f32.sum (map (\y -> 1 / (1 + f32.abs (x - y))) other)) xs) near xss
