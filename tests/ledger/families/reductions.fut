-- Reductions of flat arrays to a number.

-- sizes sum: n=0; n=1; n=1009; n=100000; n=1000000; n=20000000
entry sum [n] (xs: [n]f32): f32 = f32.sum xs

-- sizes largest: n=1; n=100003; n=20000000; n=211
entry largest [n] (xs: [n]i8): i8 = i8.maximum xs

-- sizes squares: n=1; n=100003; n=10000000; n=211
entry squares [n] (xs: [n]f64): f64 = f64.sum (map (\x -> x * x) xs)

-- sizes both: n=1; n=100003; n=10000000; n=211
entry both [n] (xs: [n]i64): (i64, i64) =
  reduce_comm (\(a, b) (c, d) -> (i64.min a c, i64.max b d)) (i64.highest, i64.lowest) (zip xs xs)
