-- A parametric module is right for each module of the type of its parameter, or wrong at once.
module type monoid = {
  type t
  val zero: t
  val add: t -> t -> t
  val show: t -> i32
}

module sums (M: monoid) = {
  def total [n] (xs: [n]M.t): M.t = reduce M.add M.zero xs
  def shown (xs: []M.t): i32 = M.show xs
  def more (x: M.t) = x + M.zero
}

module statistics (R: real) = {
  def mean [n] (xs: [n]R.t): R.t = R.(sum xs / n)
  def half (x: R.t): R.t = x R.* 0.5
  def bits (x: R.t) = maen x
}
