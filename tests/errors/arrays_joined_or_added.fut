entry mirror [n] (xs: [n]f32): []f32 =
  xs + reverse xs

-- Two arrays.
entry both [n] (xs: [n]f32) (ys: [n]f32): *[]f32 =
  let zs = ys
  in xs + zs
entry twice [n] (xs: [n]f32): [n + n]f32 = xs + reverse xs
entry sums [n] (xs: [n]f32): [n]f32 = xs + reverse xs
entry product [n] (xs: [n]f32): []f32 = xs * reverse xs
