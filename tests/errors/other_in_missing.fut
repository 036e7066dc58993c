entry main (x: i64): i64 =
  let y = x * 2
  if y > 3 then y else 0
