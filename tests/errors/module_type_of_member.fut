module type monoid = { type t val zero: t val plus: t -> t -> t }
module sum: monoid = { type t = i32 def zero = 0i32 def plus (x: f32) (y: f32) = x + y }
