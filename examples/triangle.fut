-- The product of a lower triangular matrix and a vector; the triangle is packed, row by row.
--
-- What to look at: row i has i + 1 elements, so the places of rows have a closed form.  The first
-- half of the rows has a quarter of the elements.
-- ==
-- entry: main by_hand
-- input { [1f64, 2f64, 3f64, 4f64, 5f64, 6f64] [1f64, 10f64, 100f64] }
-- output { [1f64, 32f64, 654f64] }
-- input { empty([0]f64) empty([0]f64) }
-- output { empty([0]f64) }
-- random input { [2556]f64 [71]f64 }
-- auto output
-- "small" notest random input { [20100]f64 [200]f64 }
-- "large" notest random input { [10001628]f64 [4472]f64 }

import "lib/segments"

entry main [t][n] (packed: [t]f64) (v: [n]f64): [n]f64 =
  tabulate n (\i -> f64.sum (map (\j -> packed[i * (i + 1) / 2 + j] * v[j]) (iota (i + 1))))

entry by_hand [t][n] (packed: [t]f64) (v: [n]f64): [n]f64 =
  let len = map (+ 1) (iota n)
  let (rows, places) = unzip (expand len)
  let products = map2 (\i j -> packed[i * (i + 1) / 2 + j] * v[j]) rows places
  in segmented_reduce (+) 0 len places products
