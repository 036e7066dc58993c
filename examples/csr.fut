-- The product of a sparse matrix and a vector; the matrix has its elements row by row (CSR).
--
-- What to look at: a row is a slice of all elements, so the width of the inner map differs between
-- rows.  Without nests, each element looks for its row, and a scan of pairs adds the rows.
-- ==
-- entry: main by_hand
-- input { [0i64, 2i64, 2i64] [2i64, 0i64, 1i64] [0i64, 2i64, 1i64] [1f32, 2f32, 3f32]
--         [10f32, 20f32, 30f32] }
-- output { [70f32, 0f32, 60f32] }
-- input { empty([0]i64) empty([0]i64) empty([0]i64) empty([0]f32) [1f32] }
-- output { empty([0]f32) }
-- script input { matrix ($ragged "40 geometric 64") 50 }
-- auto output
-- "even" notest script input { matrix ($ragged "10000 equal 100") 10000 }
-- "skewed" notest script input { matrix ($ragged "300000 power 100000") 300000 }
-- "one long row" notest script input { matrix ($ragged "100000 one 1000000") 100000 }

import "lib/segments"

-- Rows of given lengths, with columns and values that only look random, and a vector.
def matrix [r] (len: [r]i64) (n: i64): ([r]i64, [r]i64, []i64, []f32, [n]f32) =
  let m = i64.sum len
  in (offsets len, len, map (\k -> k * 7919 % n) (iota m), map (\k -> f32.i64 (k % 10)) (iota m),
      map (\c -> f32.i64 (c % 7) / 8) (iota n))

entry main [r][k][n] (start: [r]i64) (len: [r]i64) (cols: [k]i64) (vals: [k]f32)
                     (v: [n]f32): [r]f32 =
  map2 (\o l -> f32.sum (map (\(c, x) -> x * v[c]) (zip cols vals)[o:o + l])) start len

entry by_hand [r][k][n] (start: [r]i64) (len: [r]i64) (cols: [k]i64) (vals: [k]f32)
                        (v: [n]f32): [r]f32 =
  let (rows, places) = unzip (expand len)
  let products = map2 (\i j -> let k = start[i] + j in vals[k] * v[cols[k]]) rows places
  in segmented_reduce (+) 0 len places products
