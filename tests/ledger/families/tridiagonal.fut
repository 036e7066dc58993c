-- Tridiagonal systems: Thomas's loops over a row, and recurrences as scans.

-- sizes thomas: n=1,m=10000; n=1000,m=1000; n=100000,m=32; n=13,m=17; n=1,m=37
entry thomas [n][m] (as: [n][m]f32) (cs: [n][m]f32) (ds: [n][m]f32): [n][m]f32 =
  map3 (\a c d ->
          let (c', d') =
            loop (c', d') = (replicate m 0, replicate m 0) for i < m do
              let (cp, dp) = if i == 0 then (0, 0) else (c'[i - 1], d'[i - 1])
              let pivot = 4 - a[i] * cp
              in (c' with [i] = c[i] / pivot, d' with [i] = (d[i] - a[i] * dp) / pivot)
          in loop x = copy d' for k < m do
               let i = m - 1 - k
               in x with [i] = if k == 0 then d'[i] else d'[i] - c'[i] * x[i + 1])
       as cs ds

-- sizes scanned: n=1,m=1000000; n=1000,m=1000; n=100000,m=32; n=13,m=17; n=1,m=37
entry scanned [n][m] (as: [n][m]f32) (ds: [n][m]f32): [n][m]f32 =
  let solve (xs: [m](f32, f32)) = map (.1) (scan (\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) xs)
  in map2 (\a d ->
             let forward = solve (map2 (\a d -> (-0.25 * a, 0.25 * d)) a d)
             in reverse (solve (map2 (\a d -> (-0.25 * a, d)) (reverse a) (reverse forward))))
          as ds
