-- Systems with a triangular matrix, by forward substitution, many at a time.

-- sizes batched: b=1,n=512; b=1000,n=64; b=100000,n=8; b=3,n=5; b=1,n=17
entry batched [b][n] (as: [b][n][n]f64) (bs: [b][n]f64): [b][n]f64 =
  map2 (\a b ->
          loop x = replicate n 0 for i < n do
            let known = f64.sum (map2 (*) a[i] x)
            in x with [i] = (b[i] - known) / (a[i, i] + 2)) as bs
