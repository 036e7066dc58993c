-- Histograms whose operator takes pairs: the first place of the greatest value of each bin.

def first ((i, x): (i64, f32)) ((j, y): (i64, f32)): (i64, f32) =
  if x > y || (x == y && i < j) then (i, x) else (j, y)

-- sizes greatest: k=1,n=1000000; k=64,n=2000000; k=100000,n=2000000; k=3,n=101; k=5,n=0
entry greatest [n] (k: i64) (is: [n]i32) (xs: [n]f32): [k](i64, f32) =
  reduce_by_index (replicate k (n, -f32.inf)) first (n, -f32.inf)
                  (map (\i -> i64.i32 i % i64.max 1 k) is) (zip (iota n) xs)
