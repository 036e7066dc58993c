-- The number of positive elements, and their sum.

entry filtered [n] (xs: [n]i32): (i64, i32) =
  let found = filter (> 0) xs in (length found, i32.sum found)

entry mapped [n] (xs: [n]i32): (i64, i32) =
  (i64.sum (map (\x -> if x > 0 then 1 else 0) xs),
   i32.sum (map (\x -> if x > 0 then x else 0) xs))

entry tuples [n] (xs: [n]i32): (i64, i32) =
  reduce (\(a, b) (c, d) -> (a + c, b + d)) (0, 0)
         (map (\x -> if x > 0 then (1, x) else (0, 0)) xs)

entry truth [n] (xs: [n]i32): (i64, i32) =
  let is = map (> 0) xs
  in (i64.sum (map i64.bool is), i32.sum (map2 (\i x -> i32.bool i * x) is xs))

entry indices [n] (xs: [n]i32): (i64, i32) =
  (i64.sum (tabulate n (\i -> i64.bool (xs[i] > 0))),
   reduce (+) 0 (tabulate n (\i -> if xs[i] > 0 then xs[i] else 0)))

entry parted [n] (xs: [n]i32): (i64, i32) =
  let (found, _) = partition (\x -> x > 0) xs in (length found, reduce (+) 0 found)

entry of_records [n] (xs: [n]i32): (i64, i32) =
  let r = reduce_comm (\p q -> {count = p.count + q.count, sum = p.sum + q.sum})
                      {count = 0, sum = 0}
                      (map (\x -> {count = i64.bool (x > 0), sum = i32.max 0 x}) xs)
  in (r.count, r.sum)
