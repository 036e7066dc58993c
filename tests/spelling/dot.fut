-- The inner product of two vectors.

entry map2_sum [n] (xs: [n]f32) (ys: [n]f32): f32 = f32.sum (map2 (*) xs ys)

entry zipped [n] (xs: [n]f32) (ys: [n]f32): f32 =
  reduce (+) 0 (map (\(x, y) -> x * y) (zip xs ys))

entry indices [n] (xs: [n]f32) (ys: [n]f32): f32 =
  f32.sum (tabulate n (\i -> xs[i] * ys[i]))

entry commutative [n] (xs: [n]f32) (ys: [n]f32): f32 =
  reduce_comm (\a b -> b + a) 0 (map (\i -> xs[i] * ys[i]) (iota n))

entry as_product [n] (xs: [n]f32) (ys: [n]f32): f32 =
  let matmul [a][b][c] (p: [a][b]f32) (q: [b][c]f32): [a][c]f32 =
    map (\row -> map (\col -> f32.sum (map2 (*) row col)) (transpose q)) p
  in (matmul [xs] (transpose [ys]))[0, 0]

entry of_records [n] (xs: [n]f32) (ys: [n]f32): f32 =
  f32.sum (map (\p -> p.x * p.y) (map2 (\x y -> {x, y}) xs ys))

entry blocks [n] (xs: [n]f32) (ys: [n]f32): f32 =
  let size = (n + 1023) / 1024
  in f32.sum (tabulate 1024 (\b ->
       f32.sum (tabulate size (\k ->
         let i = b * size + k in if i < n then xs[i] * ys[i] else 0))))

entry scanned [n] (xs: [n]f32) (ys: [n]f32): f32 =
  if n == 0 then 0 else last (scan (+) 0 (map2 (*) xs ys))

entry looped [n] (xs: [n]f32) (ys: [n]f32): f32 =
  loop s = 0 for i < n do s + xs[i] * ys[i]
