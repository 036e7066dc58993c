module mk (R: { type t val add: t -> t -> t }) = { def twice (x: R.t) = R.add x x }
module m = mk f64
