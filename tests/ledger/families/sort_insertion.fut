-- Rows that are sorted in place by insertion, one after the other.

-- sizes rows: n=1,m=300; n=1000,m=100; n=500000,m=8; n=13,m=17; n=3,m=0
entry rows [n][m] (xss: [n][m]f32): [n][m]f32 =
  let insert (ys: *[m]f32) (x: f32) (i: i64): *[m]f32 =
    let (ys, j) = loop (ys, j) = (ys, i) while j > 0 && ys[j - 1] > x do
      (ys with [j] = copy ys[j - 1], j - 1)
    in ys with [j] = x
  in map (\xs -> loop ys = replicate m 0 for i < m do insert ys xs[i] i) xss
