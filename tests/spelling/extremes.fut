-- The place and value of the least element, the first of equals.

def less (a: f32, i: i64) (b: f32, j: i64) =
  if a < b || (a == b && i < j) then (a, i) else (b, j)

entry zipped [n] (xs: [n]f32): (i64, f32) =
  let (x, i) = reduce less (f32.inf, i64.highest) (zip xs (iota n)) in (i, x)

entry commutative [n] (xs: [n]f32): (i64, f32) =
  let (x, i) = reduce_comm less (f32.inf, i64.highest) (map2 (\x i -> (x, i)) xs (iota n)) in (i, x)

entry places [n] (xs: [n]f32): (i64, f32) =
  let (x, i) = reduce less (f32.inf, i64.highest) (map (\i -> (xs[i], i)) (iota n)) in (i, x)

entry of_records [n] (xs: [n]f32): (i64, f32) =
  let best = reduce (\p q -> if p.value < q.value || (p.value == q.value && p.place < q.place)
                             then p else q) {value = f32.inf, place = i64.highest}
                    (map2 (\value place -> {value, place}) xs (iota n))
  in (best.place, best.value)

entry doubly_branching [n] (xs: [n]f32): (i64, f32) =
  let best (a, i) (b, j) = if a < b then (a, i) else if b < a then (b, j)
                           else if i < j then (a, i) else (b, j)
  let (x, i) = reduce best (f32.inf, i64.highest) (zip xs (iota n)) in (i, x)

entry two_sums [n] (xs: [n]f32): (i64, f32) =
  let x = f32.minimum xs
  let i = i64.minimum (map2 (\y i -> if y == x then i else i64.highest) xs (iota n))
  in (i, x)

entry kept_outside [n] (xs: [n]f32): (i64, f32) =
  let better i j = if j < 0 then i else if i < 0 then j
                   else if xs[i] < xs[j] || (xs[i] == xs[j] && i < j) then i else j
  let i = reduce better (-1) (iota n) in if i < 0 then (i64.highest, f32.inf) else (i, xs[i])
