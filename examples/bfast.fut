-- Breaks in series of satellite images: a season and a trend are fitted to the history of each
-- pixel, whose later values are monitored by moving sums of what the model does not explain
-- (Verbesselt, Zeileis and Herold 2012).
--
-- What to look at: some ten operations per pixel, each with parallelism inside: least squares, the
-- inverse of a small matrix, scans, a scatter.  Clouds leave holes, that is NaN.
-- ==
-- input { 1i64 16i64 6f32 0.25f32 1.8f32 [[f32.nan, 0.71f32, 0.5f32, 0.33f32, 0.43f32, 0.57f32,
--   0.7f32, 0.72f32, 0.6f32, 0.42f32, 0.41f32, 0.54f32, 0.72f32, 0.74f32, 0.51f32, 0.38f32,
--   0.35f32, 0.59f32, 0.68f32, 0.74f32, 0.59f32, 0.35f32, 0.42f32, 0.59f32], [0.68f32, 0.74f32,
--   0.5f32, 0.38f32, 0.37f32, 0.52f32, 0.71f32, 0.75f32, 0.53f32, 0.34f32, 0.4f32, 0.54f32,
--   0.75f32, 0.7f32, 0.53f32, 0.41f32, 0.38f32, 0.55f32, 0.7f32, 0.67f32, 2.59f32, 2.34f32,
--   2.41f32, 2.54f32], [0.77f32, 0.71f32, 0.59f32, f32.nan, 0.35f32, 0.57f32, 0.74f32, 0.74f32,
--   0.55f32, 0.35f32, 0.39f32, 0.51f32, 0.74f32, 0.74f32, 0.54f32, 0.41f32, 0.35f32, 0.54f32,
--   f32.nan, 0.71f32, 0.57f32, 0.39f32, 0.42f32, 0.6f32]] }
-- output { [-1, 4, -1] [-0.29444313f32, 21.77522f32, 0.30500203f32] }
-- random input { 1i64 20i64 12f32 0.25f32 1.736f32 [5][32]f32 }
-- auto output
-- "small" notest random input { 3i64 113i64 23f32 0.25f32 1.736f32 [4096][235]f32 }
-- "large" notest random input { 3i64 228i64 12f32 0.25f32 1.736f32 [16384][414]f32 }
-- "few" notest random input { 3i64 2000i64 12f32 0.25f32 1.736f32 [16][4096]f32 }

def dot [n] (xs: [n]f32) (ys: [n]f32): f32 = reduce (+) 0 (map2 (*) xs ys)

-- A constant, a trend, and `harmonics` waves, at each time.
def model (harmonics: i64) (frequency: f32) (times: i64): [2 + 2 * harmonics][times]f32 =
  tabulate_2d (2 + 2 * harmonics) times (\i t ->
    let time = f32.i64 (t + 1)
    in if i == 0 then 1
       else if i == 1 then time / f32.i64 times
       else let angle = 2 * f32.pi * f32.i64 (i / 2) * time / frequency
            in if i % 2 == 0 then f32.sin angle else f32.cos angle)

-- The inverse of a matrix, by Gauss and Jordan, without pivoting.
def inverse [k] (a: [k][k]f32): [k][k]f32 =
  let start = tabulate_2d k (k + k) (\i j -> if j < k then a[i, j] else f32.bool (i == j - k))
  let rows =
    loop rows = start for i < k do
      let pivot = rows[i, i]
      in tabulate_2d k (k + k) (\r c ->
           if r == i then rows[i, c] / pivot
           else rows[r, c] - rows[r, i] * rows[i, c] / pivot)
  in map (\row -> row[k:] :> [k]f32) rows

-- Where the i-th value that is there stands in the series, and how many there are.
def present [n] (ys: [n]f32): (i64, [n]i64) =
  let ranks = scan (+) 0 (map (\y -> i64.bool (!(f32.isnan y))) ys)
  let places = map2 (\y r -> if f32.isnan y then -1 else r - 1) ys ranks
  in (if n == 0 then 0 else ranks[n - 1], scatter (replicate n (n - 1)) places (iota n))

-- The time of the break, counted from the end of the history (-1: none), and the mean of the
-- moving sums.
def monitor [n][k] (xs: [k][n]f32) (history: i64) (window: f32) (bound: f32) (ys: [n]f32)
    : (i32, f32) =
  let old = map2 (\t y -> if t < history && !(f32.isnan y) then 1 else 0) (iota n) ys
  let known = map2 (\o y -> if o == 1 then y else 0) old ys
  let normal = map (\x -> map (\x' -> f32.sum (map3 (\a b o -> a * b * o) x x' old)) xs) xs
  let right = map (dot known) xs
  let beta = map (dot right) (inverse normal)
  let errors = map2 (\x y -> y - dot x beta) (transpose xs) ys
  let (total, places) = present ys
  let residuals = map (\i -> errors[i]) places
  let size = i64.f32 (f32.sum old)
  let sum = scan (+) 0 (map2 (\i e -> if i < total then e else 0) (iota n) residuals)
  let squares = f32.sum (map2 (\o e -> if o == 1 then e * e else 0) old errors)
  let sigma = f32.sqrt (squares / f32.i64 (size - k))
  let width = i64.f32 (f32.i64 size * window)
  -- The moving sum that ends with the i-th value.
  let moving i =
    let before = i - width
    in (sum[i] - (if before >= 0 then sum[before] else 0)) / (sigma * f32.sqrt (f32.i64 size))
  let later = map (\i -> i >= size && i < total) (iota n)
  let moved = map2 (\l i -> if l then moving i else 0) later (iota n)
  let limit i =
    let ratio = f32.i64 (places[i] + 1) / f32.i64 history
    in bound * f32.sqrt (if ratio > f32.e then f32.log ratio else 1)
  let first = reduce i64.min n
                (map3 (\l i m -> if l && !(f32.isnan m) && f32.abs m > limit i then i else n)
                      later (iota n) moved)
  let mean = if total > size then f32.sum moved / f32.i64 (total - size) else 0
  in (if first < n then i32.i64 (places[first] - history) else -1, mean)

entry main [p][n] (harmonics: i64) (history: i64) (frequency: f32) (window: f32) (bound: f32)
                  (pixels: [p][n]f32): ([p]i32, [p]f32) =
  let xs = model harmonics frequency n
  in unzip (map (monitor xs history window bound) pixels)
