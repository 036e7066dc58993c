-- Systems of linear equations by elimination, many at a time; diagonals dominate.

def solved [n] (a: [n][n]f32) (b: [n]f32): [n]f32 =
  let a = tabulate_2d n n (\i j -> a[i, j] + if i == j then f32.i64 n + 1 else 0)
  let (_, b) =
    loop (a, b) for k < n do
      let row = map (/ a[k, k]) a[k]
      let value = b[k] / a[k, k]
      in (tabulate_2d n n (\i j -> if i == k then row[j] else a[i, j] - a[i, k] * row[j]),
          tabulate n (\i -> if i == k then value else b[i] - a[i, k] * value))
  in b

-- sizes batched: b=1,n=256; b=100,n=64; b=1000,n=32; b=10000,n=16; b=100000,n=4; b=3,n=5; b=1,n=17
entry batched [b][n] (as: [b][n][n]f32) (bs: [b][n]f32): [b][n]f32 = map2 solved as bs
