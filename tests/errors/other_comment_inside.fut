entry main [n] (xs: [n]i32): i32 =
  let squares = map (** 2) xs
  /* the sum */
  in i32.sum squares
