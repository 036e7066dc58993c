-- Stencils: each element with its neighbours in one, two and three dimensions.

-- sizes line: n=1; n=100003; n=10000000; n=211
entry line [n] (xs: [n]f32): [n]f32 =
  map (\i -> 0.25 * xs[i64.max 0 (i - 1)] + 0.5 * xs[i] + 0.25 * xs[i64.min (n - 1) (i + 1)])
      (iota n)

-- sizes plane: n=1,m=5000000; n=3000,m=3000; n=5000000,m=1; n=31,m=37; n=0,m=3
entry plane [n][m] (xss: [n][m]f32): [n][m]f32 =
  tabulate_2d n m (\i j ->
    let at i j = xss[i64.max 0 (i64.min (n - 1) i), i64.max 0 (i64.min (m - 1) j)]
    in at i j + 0.1 * (at (i - 1) j + at (i + 1) j + at i (j - 1) + at i (j + 1) - 4 * at i j))

-- sizes space: n=1,m=1,k=1000000; n=200,m=200,k=200; n=10000,m=10,k=10; n=5,m=7,k=11; n=7,m=13,k=11
entry space [n][m][k] (xs: [n][m][k]f64): [n][m][k]f64 =
  let clamp e i = i64.max 0 (i64.min (e - 1) i)
  in tabulate_3d n m k (\i j l ->
       let at i j l = xs[clamp n i, clamp m j, clamp k l]
       in (at (i - 1) j l + at (i + 1) j l + at i (j - 1) l + at i (j + 1) l + at i j (l - 1)
           + at i j (l + 1)) / 6)
