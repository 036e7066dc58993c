-- Sparse matrices by a vector: rows of one length, and rows that differ, as sums with flags.

-- sizes rows: n=100,k=10000; n=100000,k=32; n=1000000,k=4; n=13,k=5; n=37,k=1
entry rows [n][k] (values: [n][k]f32) (columns: [n][k]i32) (xs: [n]f32): [n]f32 =
  map2 (\vs cs -> f32.sum (map2 (\v c -> v * xs[i64.i32 c % n]) vs cs)) values columns

-- sizes triples: n=1000,k=1000000; n=1000000,k=10000000; n=13,k=101; n=211,k=3
entry triples [n][k] (values: [k]f32) (rows: [k]i32) (columns: [k]i32) (xs: [n]f32): [n]f32 =
  reduce_by_index (replicate n 0) (+) 0 (map (\r -> i64.i32 r % n) rows)
                  (map2 (\v c -> v * xs[i64.i32 c % n]) values columns)
