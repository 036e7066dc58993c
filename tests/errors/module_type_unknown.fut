module m: monoid = { type t = i32 }
