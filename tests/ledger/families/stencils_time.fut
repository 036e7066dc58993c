-- Loops over time, each step of which is a stencil.

-- sizes rod: n=1,steps=1000; n=1000,steps=1000; n=1000000,steps=100; n=37,steps=0; n=17,steps=11
entry rod [n] (steps: i64) (xs: [n]f32): [n]f32 =
  loop xs for _i < steps do
    map (\i -> xs[i] + 0.1 * (xs[i64.max 0 (i - 1)] - 2 * xs[i] + xs[i64.min (n - 1) (i + 1)]))
        (iota n)

-- sizes rods: n=1,m=1000,steps=1000; n=1000,m=100,steps=100; n=20000,m=16,steps=100
-- sizes rods: n=64,m=50000,steps=50; n=5,m=7,steps=3; n=1,m=37,steps=2
entry rods [n][m] (steps: i64) (xss: [n][m]f32): [n][m]f32 =
  map (\xs ->
         loop xs for _i < steps do
           map (\i -> xs[i] + 0.1 * (xs[i64.max 0 (i - 1)] - 2 * xs[i]
                                     + xs[i64.min (m - 1) (i + 1)])) (iota m)) xss

-- sizes plate: n=64,m=64,steps=500; n=1000,m=1000,steps=100; n=2,m=100000,steps=100
-- sizes plate: n=7,m=11,steps=3; n=2,m=3,steps=0
entry plate [n][m] (steps: i64) (xss: [n][m]f64): [n][m]f64 =
  loop xss for _i < steps do
    tabulate_2d n m (\i j ->
      let at i j = xss[i64.max 0 (i64.min (n - 1) i), i64.max 0 (i64.min (m - 1) j)]
      in 0.2 * (at i j + at (i - 1) j + at (i + 1) j + at i (j - 1) + at i (j + 1)))
