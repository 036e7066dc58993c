def weighted [n] (xs: [n]f64) (ws: [n]f64) =
  let positive = filter (> 0) xs
  in f64.sum (map2 (*) positive ws)

def piped [n] (xs: [n]f64) (ws: [n]f64) =
  let positive = xs |> filter (> 0)
  in zip positive ws

def inside [n] (xs: [n]f64) (ws: [n]f64) = map2 (*) ws (filter (> 0) xs)

def parts [n] (xs: [n]f64) =
  let (low, high) = partition (< 0) xs
  in map2 (+) low high

def counted [n] (xs: [n]f64): [n]f64 = xs |> filter (> 0) |> map f64.sqrt
