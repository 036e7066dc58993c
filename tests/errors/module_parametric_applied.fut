-- What is wrong in a parametric module is said once, however often it is applied.
module type steps = { type t val start: t val next: t -> t val value: t -> f64 }

module walk (S: steps) = {
  def far (n: i64): f64 = S.value (loop x = S.start for i < n do S.next i)
}

module ones = walk { type t = i32 def start = 0i32 def next (x: i32) = x + 1 def value = f64.i32 }
module halves = walk { type t = f64 def start = 0f64 def next (x: f64) = x + 0.5 def value (x: f64) = x }

entry main (n: i64): f64 = ones.far n + halves.far n
