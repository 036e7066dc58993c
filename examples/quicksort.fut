-- Quicksort: numbers go before or behind a pivot, then both sides are sorted.
--
-- What to look at: sides have different lengths, and there are more of them at each level.  All
-- sides of a level are split at once.
-- ==
-- entry: by_hand
-- input { [5i32, 0i32, -7i32, 5i32, 2i32] } output { [-7i32, 0i32, 2i32, 5i32, 5i32] }
-- input { empty([0]i32) } output { empty([0]i32) }
-- random input { [301]i32 } auto output
-- "small" notest random input { [10000]i32 }
-- "large" notest random input { [1000000]i32 }

import "lib/segments"

def add (a: i64, b: i64, c: i64) (d: i64, e: i64, f: i64) = (a + d, b + e, c + f)

-- Segments that are still to be sorted are slices of the array.
entry by_hand [n] (xs: [n]i32): [n]i32 =
  (loop (xs, start, len) = (copy xs, [0], [n]) while length start > 0 do
     let (rows, places) = unzip (expand len)
     let ys = map2 (\i j -> xs[start[i] + j]) rows places
     let pivots = map2 (\o l -> if l == 0 then 0 else xs[o + l / 2]) start len
     -- the numbers that are less, equal and greater, up to each element and in all
     let sides = map2 (\i y -> (i64.bool (y < pivots[i]), i64.bool (y == pivots[i]),
                                i64.bool (y > pivots[i]))) rows ys
     let upto = segmented_scan add (0, 0, 0) places sides
     let all = map2 (\l end -> if l == 0 then (0, 0, 0) else upto[end - 1]) len (scan (+) 0 len)
     let targets = map3 (\i (l, e, g) (is_less, is_equal, _) ->
                           let (less, equal, _) = all[i]
                           in start[i] - 1 + (if is_less == 1 then l
                                              else if is_equal == 1 then less + e
                                              else less + equal + g)) rows upto sides
     let halves = map2 (\o (l, _, _) -> (o, l)) start all
                  ++ map2 (\o (l, e, g) -> (o + l + e, g)) start all
     let (start, len) = unzip (filter (\(_, l) -> l > 1) halves)
     in (scatter xs targets ys, start, len)).0

-- Both sides of a pivot are sorted by one call for each.
def sorted [n] (xs: [n]i32): [n]i32 =
  if n < 2 then xs else
    let p = xs[n / 2]
    let (lens, _, _, sides) =
      flatmap' (\up -> sorted (filter (\x -> if up then x > p else x < p) xs)) [false, true]
    in sides[:lens[0]] ++ filter (== p) xs ++ sides[lens[0]:] :> [n]i32

-- ==
-- entry: main
-- input { [5i32, 0i32, -7i32, 5i32, 2i32] } output { [-7i32, 0i32, 2i32, 5i32, 5i32] }
-- input { empty([0]i32) } output { empty([0]i32) }
-- random input { [301]i32 } auto output
entry main [n] (xs: [n]i32): [n]i32 = sorted xs
