-- Statistics of vectors of numbers.
--
-- `axis=0` of NumPy is a map over `transpose xss` here, `axis=1` a map over xss.

import "sort"

-- | The place of the first greatest element; -1 of none.  `less` is the order, such as `(<)`.
--
-- >>> argmax_by (<) [1, 7, 7, 2]
-- 1
def argmax_by 'a [n] (less: a -> a -> bool) (xs: [n]a): i64 =
  let better i j =
    if i < 0 then j
    else if j < 0 then i
    else if less xs[i] xs[j] then j
    else if less xs[j] xs[i] then i
    else i64.min i j
  in reduce_comm better (-1) (iota n)

-- | How often each of the numbers 0 to k - 1 occurs; other numbers are left out.
--
-- >>> bincount 3 [0, 2, 2, 7]
-- [1, 0, 2]
def bincount [n] (k: i64) (xs: [n]i64): [k]i64 = hist (+) 0 k xs (map (const 1) xs)

-- Real numbers, and how arrays of them are sorted.
module type sortable = {
  include real
  val sort [n]: [n]t -> [n]t
}

-- Statistics of numbers of a type R.t.
module mk_stats (R: sortable) = {
  local def whole (n: i64): R.t = R.i64 n

  -- | The mean; no number of no elements.
  --
  -- >>> stats_f32.mean [1, 2, 6]
  -- 3f32
  def mean [n] (xs: [n]R.t): R.t = R.sum xs R./ whole n

  -- | The variance of a population: the mean of the squared distances from the mean.
  --
  -- >>> stats_f32.variance [1, 2, 6]
  -- 4.6666665f32
  def variance [n] (xs: [n]R.t): R.t =
    let middle = mean xs
    in mean (map (\x -> let d = x R.- middle in d R.* d) xs)

  -- | The variance that a sample suggests: the squares are divided by n - 1.
  --
  -- >>> stats_f32.sample_variance [1, 2, 6]
  -- 7f32
  def sample_variance [n] (xs: [n]R.t): R.t =
    variance xs R.* whole n R./ whole (n - 1)

  -- | The standard deviation of a population, the root of the variance.
  --
  -- >>> stats_f32.std [1, 5]
  -- 2f32
  def std [n] (xs: [n]R.t): R.t = R.sqrt (variance xs)

  -- | The covariance of two populations of pairs.
  --
  -- >>> stats_f32.covariance [1, 5] [2, 4]
  -- 2f32
  def covariance [n] (xs: [n]R.t) (ys: [n]R.t): R.t =
    let (x, y) = (mean xs, mean ys)
    in mean (map2 (\a b -> (a R.- x) R.* (b R.- y)) xs ys)

  -- | The correlation of pairs, between -1 and 1.
  --
  -- >>> stats_f32.correlation [1, 5] [2, 4]
  -- 1f32
  def correlation [n] (xs: [n]R.t) (ys: [n]R.t): R.t =
    covariance xs ys R./ R.sqrt (variance xs R.* variance ys)

  -- | The place of the first greatest number; -1 of none.
  --
  -- >>> stats_f32.argmax [1, 7, 7, 2]
  -- 1
  def argmax [n] (xs: [n]R.t): i64 = argmax_by (R.<) xs

  -- | The place of the first least number; -1 of none.
  --
  -- >>> stats_f32.argmin [3, 1, 1, 2]
  -- 1
  def argmin [n] (xs: [n]R.t): i64 = argmax_by (R.>) xs

  -- | The quantile q, between 0 and 1, of sorted numbers: between two of them it is linear.
  --
  -- >>> stats_f32.sorted_quantile [1, 2, 4] 0.75
  -- 3f32
  def sorted_quantile [n] (xs: [n]R.t) (q: R.t): R.t =
    let place = q R.* whole (n - 1)
    let below = i64.max 0 (i64.min (n - 1) (R.to_i64 (R.floor place)))
    let above = i64.min (n - 1) (below + 1)
    in xs[below] R.+ (place R.- whole below) R.* (xs[above] R.- xs[below])

  -- | Quantiles, each between 0 and 1, of numbers in any order; there must be numbers.
  --
  -- >>> stats_f32.quantiles [4, 1, 2] [0, 0.5, 0.75]
  -- [1f32, 2, 3]
  def quantiles [n] [m] (xs: [n]R.t) (qs: [m]R.t): [m]R.t =
    let ordered = R.sort xs
    in map (sorted_quantile ordered) qs

  -- | One quantile, between 0 and 1, of numbers in any order; there must be numbers.
  --
  -- >>> stats_f32.quantile [4, 1, 2] 0.75
  -- 3f32
  def quantile [n] (xs: [n]R.t) (q: R.t): R.t = sorted_quantile (R.sort xs) q

  -- | The middle number in order, or the mean of the two in the middle; there must be numbers.
  --
  -- >>> stats_f32.median [4, 1, 2, 3]
  -- 2.5f32
  def median [n] (xs: [n]R.t): R.t =
    quantile xs (R.i64 1 R./ R.i64 2)

  -- | How many numbers are in each of k intervals of one width from low to high, which counts, too.
  --
  -- >>> stats_f32.histogram 2 0 4 [1, 1, 3, 4, 9]
  -- [2, 2]
  def histogram [n] (k: i64) (low: R.t) (high: R.t) (xs: [n]R.t): [k]i64 =
    let place x =
      if !(low R.<= x && x R.<= high) then -1
      else i64.min (k - 1) (R.to_i64 ((x R.- low) R.* whole k R./ (high R.- low)))
    in bincount k (map place xs)

  -- | The numbers moved and stretched so that their mean is 0 and their deviation 1.
  --
  -- >>> stats_f32.standardized [1, 5]
  -- [-1f32, 1]
  def standardized [n] (xs: [n]R.t): [n]R.t =
    let (middle, width) = (mean xs, std xs)
    in map (\x -> (x R.- middle) R./ width) xs

  -- | Exponentials that are divided by their sum: positive numbers whose sum is 1.
  --
  -- >>> stats_f32.softmax [0, 0]
  -- [0.5f32, 0.5]
  def softmax [n] (xs: [n]R.t): [n]R.t =
    let most = R.maximum xs
    let powers = map (\x -> R.exp (x R.- most)) xs
    let total = R.sum powers
    in map (R./ total) powers
}

module stats_f32 = mk_stats { open f32 def sort [n] (xs: [n]f32): [n]f32 = sort_f32 xs }
module stats_f64 = mk_stats { open f64 def sort [n] (xs: [n]f64): [n]f64 = sort_f64 xs }
