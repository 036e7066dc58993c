-- Scans with operators of pairs: linear recurrences, and sums that begin anew at flags.

def line ((a, b): (f32, f32)) ((c, d): (f32, f32)): (f32, f32) = (a * c, b * c + d)

-- sizes recurrence: n=1; n=100003; n=10000000; n=211
entry recurrence [n] (as: [n]f32) (bs: [n]f32): [n]f32 =
  map (.1) (scan line (1, 0) (zip as bs))

-- sizes recurrences: n=1,m=4000000; n=2000,m=2000; n=500000,m=8; n=37,m=41; n=31,m=37
entry recurrences [n][m] (as: [n][m]f32) (bs: [n][m]f32): [n][m]f32 =
  map2 (\a b -> map (.1) (scan line (1, 0) (zip a b))) as bs

-- sizes flagged: n=1; n=100003; n=10000000; n=211
entry flagged [n] (flags: [n]bool) (xs: [n]i32): [n]i32 =
  let step (f, x) (g, y) = (f || g, if g then y else x + y)
  in map (.1) (scan step (false, 0) (zip flags xs))
