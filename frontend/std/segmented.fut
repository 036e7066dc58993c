-- Rows of several lengths: one vector of all elements, and a vector of the lengths, or flags that
-- mark the first element of each row.

-- | Where each row begins: the sums of the lengths before it.
--
-- >>> starts [2, 0, 3]
-- [0, 2, 2]
def starts [m] (lengths: [m]i64): [m]i64 = map2 (-) (scan (+) 0 lengths) lengths

-- | For each element, the row that it is in.
--
-- >>> rows [2, 0, 3]
-- [0, 0, 2, 2, 2]
def rows [m] (lengths: [m]i64): []i64 =
  let heads = map2 (\start k -> if k == 0 then -1 else start) (starts lengths) lengths
  in scan i64.max 0 (scatter (replicate (i64.sum lengths) 0) heads (iota m))

-- | For each element, its place in its row.
--
-- >>> places [2, 0, 3]
-- [0, 1, 0, 1, 2]
def places [m] (lengths: [m]i64): []i64 =
  let begins = starts lengths
  let own = rows lengths
  in map2 (\row i -> i - begins[row]) own (indices own)

-- | For each element, whether it is the first of its row.
--
-- >>> flags [2, 0, 1]
-- [true, false, true]
def flags [m] (lengths: [m]i64): []bool = map (== 0) (places lengths)

-- | A scan of each row; flags mark the first elements.
--
-- >>> segmented_scan (+) 0 [true, false, true] [1, 2, 3]
-- [1, 3, 3]
def segmented_scan 'a [n] (op: a -> a -> a) (neutral: a) (flags: [n]bool) (xs: [n]a): [n]a =
  let (_, found) =
    unzip (scan (\(f, x) (g, y) -> (f || g, if g then y else op x y))
                (false, neutral)
                (zip flags xs))
  in found

-- | A reduction of each row; flags mark the first elements.
--
-- >>> segmented_reduce (+) 0 [true, false, true] [1, 2, 3]
-- [3, 3]
def segmented_reduce 'a [n] (op: a -> a -> a) (neutral: a) (flags: [n]bool) (xs: [n]a): []a =
  let sums = segmented_scan op neutral flags xs
  let ends = filter (\i -> i == n - 1 || flags[i + 1]) (iota n)
  in map (\i -> sums[i]) ends

-- | A reduction of each row, of which the lengths are known; an empty row is neutral.
--
-- >>> reduce_rows (+) 0 [2, 0, 1] [1, 2, 3]
-- [3, 0, 3]
def reduce_rows 'a [n] [m] (op: a -> a -> a) (neutral: a) (lengths: [m]i64) (xs: [n]a): [m]a =
  let sums = segmented_scan op neutral (flags lengths :> [n]bool) xs
  let begins = starts lengths
  in map2 (\start k -> if k == 0 then neutral else sums[start + k - 1]) begins lengths

-- | For each element x, the results of `get x 0` to `get x (size x - 1)`, one after the other.
--
-- >>> expand (\x -> x) (\x i -> 10 * x + i) [2, 0, 1]
-- [20, 21, 10]
def expand 'a 'b [n] (size: a -> i64) (get: a -> i64 -> b) (xs: [n]a): []b =
  let lengths = map size xs
  let k = i64.sum lengths
  in map2 (\row i -> get xs[row] i) (rows lengths :> [k]i64) (places lengths :> [k]i64)

-- | The lengths of the runs of equal neighbours.
--
-- >>> runs (==) [5, 5, 1, 1, 1]
-- [2, 3]
def runs 'a [n] (equal: a -> a -> bool) (xs: [n]a): []i64 =
  let heads = filter (\i -> i == 0 || !(equal xs[i - 1] xs[i])) (iota n)
  let k = length heads
  in map (\i -> (if i == k - 1 then n else heads[i + 1]) - heads[i]) (iota k)
