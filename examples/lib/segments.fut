-- Rows of different lengths, flattened by hand: the elements of all rows in one array.

-- The number of elements before each row.
def offsets [n] (lens: [n]i64): [n]i64 = map2 (-) (scan (+) 0 lens) lens

-- The row of each element.  Of the rows that begin at one place, the last one has elements.
def owners [n] (lens: [n]i64): []i64 =
  let m = i64.sum lens
  in scan i64.max 0 (reduce_by_index (replicate m 0) i64.max 0 (offsets lens) (iota n))

-- The row of each element, and its place in the row (Elsman et al. 2019).
def expand [n] (lens: [n]i64): ?[m].[m](i64, i64) =
  let before = offsets lens
  let rows = owners lens
  in zip rows (map2 (\r k -> k - before[r]) rows (indices rows))

-- A scan that begins anew where a row begins: a scan of pairs, whose flags stop what comes from
-- the left (Blelloch 1990).
def segmented_scan [m] 'a (op: a -> a -> a) (ne: a) (places: [m]i64) (xs: [m]a): [m]a =
  let join (f, x) (g, y) = (f || g, if g then y else op x y)
  in (unzip (scan join (false, ne) (zip (map (== 0) places) xs))).1

-- Each row reduced: the last elements of a scan, and the neutral element for empty rows.
def segmented_reduce [n][m] 'a (op: a -> a -> a) (ne: a) (lens: [n]i64)
                               (places: [m]i64) (xs: [m]a): [n]a =
  let sums = segmented_scan op ne places xs
  in map2 (\l end -> if l == 0 then ne else sums[end - 1]) lens (scan (+) 0 lens)
