module type num = { type t; val add : t -> t -> t }
entry main (x: i32): i32 = x
