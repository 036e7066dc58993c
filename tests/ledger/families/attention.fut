-- Attention: products, a softmax and another product for each query of each head.

-- sizes heads: h=1,n=1000,d=64; h=64,n=64,d=32; h=1000,n=16,d=16; h=2,n=5,d=3; h=1,n=11,d=1
entry heads [h][n][d] (queries: [h][n][d]f32) (keys: [h][n][d]f32) (values: [h][n][d]f32)
                    : [h][n][d]f32 =
  map3 (\qs ks vs ->
          map (\q ->
                 let scores = map (\k -> f32.sum (map2 (*) q k)) ks
                 let top = f32.maximum scores
                 let shares = map (\s -> f32.exp (s - top)) scores
                 let total = f32.sum shares
                 in map (\v -> f32.sum (map2 (*) shares v) / total) (transpose vs)) qs)
       queries keys values
