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
