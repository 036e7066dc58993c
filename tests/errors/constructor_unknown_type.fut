entry main (x: i32): bool =
  let y = #some x
  in x > 0
