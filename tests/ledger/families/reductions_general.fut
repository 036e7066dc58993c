-- Reductions with operators of several values, which do not commute.

def join (a: (i32, i32, i32, i32)) (b: (i32, i32, i32, i32)): (i32, i32, i32, i32) =
  (i32.max (i32.max a.0 b.0) (a.2 + b.1), i32.max a.1 (a.3 + b.1), i32.max b.2 (a.2 + b.3),
   a.3 + b.3)

def best [n] (xs: [n]i32): i32 =
  (reduce join (0, 0, 0, 0) (map (\x -> (i32.max x 0, i32.max x 0, i32.max x 0, x)) xs)).0

-- sizes segment: n=0; n=1; n=100003; n=10000000
entry segment [n] (xs: [n]i8): i32 = best (map i32.i8 xs)

-- sizes segments: n=1,m=5000000; n=2000,m=2000; n=500000,m=10; n=31,m=37; n=3,m=0
entry segments [n][m] (xss: [n][m]i8): [n]i32 = map (\xs -> best (map i32.i8 xs)) xss

-- sizes places: n=1,m=5000000; n=2000,m=2000; n=500000,m=10; n=31,m=37; n=31,m=0
entry places [n][m] (xss: [n][m]f32): [n](i64, f32) =
  let least (i, x) (j, y) = if x < y || (x == y && i < j) then (i, x) else (j, y)
  in map (\xs -> reduce_comm least (m, f32.inf) (zip (iota m) xs)) xss
