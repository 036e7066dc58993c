-- The integral of a function with a peak, by Simpson's rule on intervals that are halved on demand.
--
-- What to look at: intervals near the peak are halved more often than others.  All intervals of a
-- level are looked at at once; those that are exact enough are added to the sum.
-- ==
-- entry: by_hand
-- input { 0f64 0f64 1e-9 } output { 0f64 0i64 }
-- input { -1f64 1f64 1e-9 } auto output
-- "flat" notest input { 1f64 2f64 1e-13 }
-- "peak" notest input { -1f64 1f64 1e-13 }

-- The derivative of 1000 atan(1000 x), in parts.
def f (x: f64): f64 = 1e6 / (1 + 1e6 * x * x)

def simpson (a: f64) (b: f64): f64 = (b - a) / 6 * (f a + 4 * f ((a + b) / 2) + f b)

-- The integral from a to b, and the number of intervals that were added.
entry by_hand (a: f64) (b: f64) (tolerance: f64): (f64, i64) =
  let (sum, count, _, _) =
    loop (sum, count, limit, intervals) = (0, 0, tolerance, if a < b then [(a, b)] else [])
    while length intervals > 0 do
      let tried = map (\(a, b) -> let middle = (a + b) / 2
                                  let halves = simpson a middle + simpson middle b
                                  in (a, b, halves, f64.abs (halves - simpson a b) / 15)) intervals
      let (exact, others) = partition (\(_, _, _, error) -> error <= limit) tried
      let left = map (\(a, b, _, _) -> (a, (a + b) / 2)) others
      let right = map (\(a, b, _, _) -> ((a + b) / 2, b)) others
      in (sum + f64.sum (map (.2) exact), count + length exact, limit / 2, left ++ right)
  in (sum, count)

-- Halves of an interval that is not exact enough, by recursion.
def adaptive (a: f64) (b: f64) (limit: f64): (f64, i64) =
  let middle = (a + b) / 2
  let halves = simpson a middle + simpson middle b
  in if f64.abs (halves - simpson a b) / 15 <= limit then (halves, 1) else
       let (left, one) = adaptive a middle (limit / 2)
       let (right, other) = adaptive middle b (limit / 2)
       in (left + right, one + other)

-- ==
-- entry: main
-- input { 0f64 0f64 1e-9 } output { 0f64 0i64 }
-- input { -1f64 1f64 1e-4 } auto output
entry main (a: f64) (b: f64) (tolerance: f64): (f64, i64) =
  if a < b then adaptive a b tolerance else (0, 0)
