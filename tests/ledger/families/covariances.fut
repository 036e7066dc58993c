-- Covariances of all pairs of columns.

-- sizes columns: n=100,m=1000; n=100000,m=16; n=1000,m=300; n=13,m=7; n=1,m=31
entry columns [n][m] (xss: [n][m]f32): [m][m]f32 =
  let means = map (\xs -> f32.sum xs / f32.i64 n) (transpose xss)
  let centred = map2 (\xs mean -> map (\x -> x - mean) xs) (transpose xss) means
  in map (\xs -> map (\ys -> f32.sum (map2 (*) xs ys) / f32.i64 n) centred) centred
