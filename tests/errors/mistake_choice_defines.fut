def f (n: i64): i64 =
  if n > 100 then
    let w = 5
  else
    let w = 3
  in w * n
def g (n: i64): i64 =
  let x = n + 1
  then x
