-- The greatest eigenvalue by iteration: a loop of products with a vector and its norm.

-- sizes vector: n=1,steps=50; n=100,steps=100; n=3000,steps=20; n=13,steps=3
entry vector [n] (steps: i64) (a: [n][n]f64): [n]f64 =
  loop x = replicate n 1 for _i < steps do
    let y = map (\row -> f64.sum (map2 (*) row x)) a
    let norm = f64.sqrt (f64.sum (map (\v -> v * v) y))
    in map (/ norm) y

-- sizes batched: b=10,n=100,steps=20; b=10000,n=8,steps=20; b=3,n=5,steps=2; b=1,n=17,steps=3
entry batched [b][n] (steps: i64) (as: [b][n][n]f64): [b][n]f64 =
  map (\a -> loop x = replicate n 1 for _i < steps do
         let y = map (\row -> f64.sum (map2 (*) row x)) a
         let norm = f64.sqrt (f64.sum (map (\v -> v * v) y))
         in map (/ norm) y) as
