-- Softmax and normalisation of rows: reductions whose results all elements of a row need.

-- sizes softmax: n=1,m=5000000; n=16,m=500000; n=3000,m=3000; n=500000,m=16; n=37,m=41; n=3,m=0
entry softmax [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\xs ->
         let top = f32.maximum xs
         let shares = map (\x -> f32.exp (x - top)) xs
         let total = f32.sum shares
         in map (/ total) shares) xss

-- sizes normalised: n=1,m=2000000; n=2000,m=2000; n=500000,m=8; n=37,m=41; n=31,m=37
entry normalised [n][m] (xss: [n][m]f64): [n][m]f64 =
  map (\xs ->
         let mean = f64.sum xs / f64.i64 m
         let variance = f64.sum (map (\x -> (x - mean) * (x - mean)) xs) / f64.i64 m
         in map (\x -> (x - mean) / f64.sqrt (variance + 1e-5)) xs) xss
