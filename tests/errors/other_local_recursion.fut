entry main (n: i64): i64 =
  let go (i: i64) = if i == 0 then 0 else go (i - 1)
  in go n
