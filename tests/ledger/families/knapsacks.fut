-- Dynamic programming: the best value for each capacity, item after item.

-- sizes best: n=100,c=1000; n=100,c=1000000; n=1000,c=10000; n=5,c=7; n=0,c=3
entry best [n] (c: i64) (weights: [n]u8) (values: [n]u8): [c + 1]i32 =
  loop best = replicate (c + 1) 0 for i < n do
    let w = i64.u8 weights[i] + 1
    in map (\k -> if k < w then best[k] else i32.max best[k] (best[k - w] + i32.u8 values[i]))
           (iota (c + 1))

-- sizes many: b=1000,n=20,c=100; b=20,n=100,c=10000; b=3,n=5,c=7; b=1,n=3,c=211
entry many [b][n] (c: i64) (weights: [b][n]u8) (values: [b][n]u8): [b]i32 =
  map2 (\ws vs ->
          let best = loop best = replicate (c + 1) 0 for i < n do
            let w = i64.u8 ws[i] + 1
            in map (\k -> if k < w then best[k] else i32.max best[k] (best[k - w] + i32.u8 vs[i]))
                   (iota (c + 1))
          in best[c]) weights values
