-- Windows of vectors and matrices, margins, differences and convolutions.
--
-- Nothing of a window is stored: the compiler reads the elements where they are.

-- | All windows of k neighbours.
--
-- >>> windows 2 [1, 2, 3]
-- [[1, 2], [2, 3]]
def windows 'a [n] (k: i64) (xs: [n]a): [n - k + 1][k]a =
  tabulate (n - k + 1) (\i -> tabulate k (\j -> xs[i + j]))

-- | All windows of k rows and l columns.
--
-- >>> windows_2d 1 2 [[1, 2, 3]]
-- [[[[1, 2]], [[2, 3]]]]
def windows_2d 'a [n] [m] (k: i64) (l: i64) (xss: [n][m]a): [n - k + 1][m - l + 1][k][l]a =
  tabulate_2d (n - k + 1) (m - l + 1) (\i j -> tabulate_2d k l (\p q -> xss[i + p, j + q]))

-- | Each window of k neighbours combined by an associative operator.
--
-- >>> moving (+) 0 2 [1, 2, 4]
-- [3, 6]
def moving 'a [n] (op: a -> a -> a) (neutral: a) (k: i64) (xs: [n]a): [n - k + 1]a =
  map (reduce op neutral) (windows k xs)

-- | Differences of neighbours, or what else an operator makes of the later and the earlier one.
--
-- >>> diff (-) [1, 3, 7]
-- [2, 4]
def diff 'a 'b [n] (minus: a -> a -> b) (xs: [n]a): [n - 1]b =
  tabulate (n - 1) (\i -> minus xs[i + 1] xs[i])

-- | A value repeated before and after the elements.
--
-- >>> pad 1 2 0 [5, 6]
-- [0, 5, 6, 0, 0]
def pad 'a [n] (before: i64) (after: i64) (value: a) (xs: [n]a): [before + n + after]a =
  tabulate (before + n + after) (\i ->
    if i < before || i >= before + n then value else xs[i - before])

-- | A matrix with margins of one value: rows above and below, columns left and right.
--
-- >>> pad_2d 1 0 0 1 0 [[5, 6]]
-- [[0, 0, 0], [5, 6, 0]]
def pad_2d 'a [n] [m] (above: i64) (below: i64) (left: i64) (right: i64) (value: a)
    (xss: [n][m]a): [above + n + below][left + m + right]a =
  tabulate_2d (above + n + below) (left + m + right) (\i j ->
    if i < above || i >= above + n || j < left || j >= left + m then value
    else xss[i - above, j - left])

-- | The first element repeated in front, and the last behind.
--
-- >>> pad_edge 1 2 [5, 6]
-- [5, 5, 6, 6, 6]
def pad_edge 'a [n] (before: i64) (after: i64) (xs: [n]a): [before + n + after]a =
  tabulate (before + n + after) (\i -> xs[i64.max 0 (i64.min (n - 1) (i - before))])

-- | The elements from the other end in front and behind, as on a ring.
--
-- >>> pad_wrap 1 2 [5, 6, 7]
-- [7, 5, 6, 7, 5, 6]
def pad_wrap 'a [n] (before: i64) (after: i64) (xs: [n]a): [before + n + after]a =
  tabulate (before + n + after) (\i -> xs[(i - before) % n])

-- | The elements mirrored at the first and at the last, which are not repeated.
--
-- >>> pad_reflect 1 2 [5, 6, 7]
-- [6, 5, 6, 7, 6, 5]
def pad_reflect 'a [n] (before: i64) (after: i64) (xs: [n]a): [before + n + after]a =
  let period = i64.max 1 (2 * (n - 1))
  let place i = let j = (i - before) % period in if j < n then j else period - j
  in tabulate (before + n + after) (\i -> xs[place i])

-- Convolutions of numbers of a type R.t.
module mk_windows (R: numeric) = {
  local def zero: R.t = R.i64 0

  -- | The sum of each window of k neighbours.
  --
  -- >>> windows_f32.moving_sum 2 [1, 2, 4]
  -- [3f32, 6]
  def moving_sum [n] (k: i64) (xs: [n]R.t): [n - k + 1]R.t = moving (R.+) zero k xs

  -- | The mean of each window of k neighbours.
  --
  -- >>> windows_f32.moving_mean 2 [1, 2, 4]
  -- [1.5f32, 3]
  def moving_mean [n] (k: i64) (xs: [n]R.t): [n - k + 1]R.t =
    map (R./ (R.i64 k)) (moving_sum k xs)

  -- | Each window weighted by a filter, and summed; nothing is turned around.
  --
  -- >>> windows_f32.correlate [1, 2, 4] [1, 10]
  -- [21f32, 42]
  def correlate [n] [k] (xs: [n]R.t) (filter: [k]R.t): [n - k + 1]R.t =
    map (\window -> R.sum (map2 (R.*) window filter)) (windows k xs)

  -- | The convolution where the filter lies within the elements.
  --
  -- >>> windows_f32.convolve_valid [1, 2, 4] [1, 10]
  -- [12f32, 24]
  def convolve_valid [n] [k] (xs: [n]R.t) (filter: [k]R.t): [n - k + 1]R.t =
    correlate xs (reverse filter)

  -- | The convolution, with zeros around the elements.
  --
  -- >>> windows_f32.convolve [1, 2, 4] [1, 10]
  -- [1f32, 12, 24, 40]
  def convolve [n] [k] (xs: [n]R.t) (filter: [k]R.t): [n + k - 1]R.t =
    convolve_valid (pad (k - 1) (k - 1) zero xs) filter :> [n + k - 1]R.t

  -- | The convolution in the middle, as many numbers as there are elements.
  --
  -- >>> windows_f32.convolve_same [1, 2, 4] [1, 10, 100]
  -- [12f32, 124, 240]
  def convolve_same [n] [k] (xs: [n]R.t) (filter: [k]R.t): [n]R.t =
    convolve_valid (pad (k / 2) ((k - 1) / 2) zero xs) filter :> [n]R.t

  -- | Each window of a matrix weighted by a filter, and summed; nothing is turned around.
  --
  -- >>> windows_f32.correlate_2d [[1, 2], [3, 4]] [[1, 10]]
  -- [[21f32], [43]]
  def correlate_2d [n] [m] [k] [l] (xss: [n][m]R.t) (filter: [k][l]R.t)
      : [n - k + 1][m - l + 1]R.t =
    tabulate_2d (n - k + 1) (m - l + 1) (\i j ->
      R.sum (tabulate k (\p -> R.sum (tabulate l (\q -> xss[i + p, j + q] R.* filter[p, q])))))

  -- | The convolution of a matrix where the filter lies within it.
  --
  -- >>> windows_f32.convolve_2d [[1, 2], [3, 4]] [[1, 10]]
  -- [[12f32], [34]]
  def convolve_2d [n] [m] [k] [l] (xss: [n][m]R.t) (filter: [k][l]R.t)
      : [n - k + 1][m - l + 1]R.t =
    correlate_2d xss (reverse (map reverse filter))
}

module windows_i32 = mk_windows i32
module windows_i64 = mk_windows i64
module windows_f32 = mk_windows f32
module windows_f64 = mk_windows f64
