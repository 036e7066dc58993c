-- A parametric module must take each module that its module type lets in, and make what it says.
module type number = { type t val one: t val add: t -> t -> t }

module type transformer = { module apply: (N: number) -> number }

module narrow: transformer = {
  module apply (N: number with t = i32): number = {
    type t = i32
    def one = N.add N.one N.one
    def add = N.add
  }
}

module poor: (N: number) -> {val two: i32} = \(N: number) -> { def two = N.add N.one N.one }

