type p = {x: f64, y: f64}
entry named [n] (ps: [n]p): [n]f64 = map (\(x, y) -> x + y) ps
entry reversed [n] (ps: [n]p): [n]f64 = map (\(y, x) -> x - y) ps
entry others [n] (ps: [n]p): [n]f64 = map (\(a, b) -> a + b) ps
entry bound (q: p): f64 = let (x, y) = q in x + y
entry reduced [n] (ps: [n]p): p =
  reduce (\(x, y) (z, w) -> {x = x + z, y = y + w}) {x = 0, y = 0} ps
entry mapped2 [n] (xs: [n]f64) (ps: [n]p): [n]f64 = map2 (\a (x, y) -> a * x + y) xs ps
