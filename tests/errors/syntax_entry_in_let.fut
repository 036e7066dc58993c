entry main (x: i32): i32 =
  entry helper (y: i32): i32 = y + 1
  in helper x
