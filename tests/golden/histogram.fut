-- stages: opt flat
entry main [n] (k: i64) (is: [n]i64): [k]i32 =
  reduce_by_index (replicate k 0) (+) 0 is (map (const 1) is)
