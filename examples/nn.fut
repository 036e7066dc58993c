-- The k records nearest to a point, found by k times taking the nearest that is left.
--
-- What to look at: a loop of reductions with an operator on pairs, and an in-place update that
-- must not copy the distances each time.
-- ==
-- input { 2i64 0f32 0f32 [1f32, 3f32, 2f32] [1f32, 0f32, 2f32] }
-- output { [0i64, 2i64] [1.4142135f32, 2.828427f32] }
-- random input { 5i64 0.5f32 0.5f32 [100]f32 [100]f32 }
-- auto output
-- "small" notest random input { 100i64 0.5f32 0.5f32 [42764]f32 [42764]f32 }
-- "large" notest random input { 100i64 0.5f32 0.5f32 [855280]f32 [855280]f32 }

def nearest [n] (distances: [n]f32): (i64, f32) =
  reduce_comm (\(i, x) (j, y) -> if x < y || (x == y && i < j) then (i, x) else (j, y))
              (n, f32.inf)
              (zip (iota n) distances)

entry main [n] (k: i64) (x: f32) (y: f32) (xs: [n]f32) (ys: [n]f32): ([k]i64, [k]f32) =
  let distances = map2 (\a b -> f32.sqrt ((a - x) ** 2 + (b - y) ** 2)) xs ys
  let (indices, found, _) =
    loop (indices, found, distances) = (replicate k (-1), replicate k f32.inf, distances)
    for i < k do
      let (j, d) = nearest distances
      in if j < n
         then (indices with [i] = j, found with [i] = d, distances with [j] = f32.inf)
         else (indices, found, distances)
  in (indices, found)
