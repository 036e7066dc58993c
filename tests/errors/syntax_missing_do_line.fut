def steps (x: i64): i64 =
  let (_, count) =
    loop (y, c) = (x, 0) while y != 1  -- Collatz
      (y / 2, c + 1)
  in count

def sum (n: i64): i64 =
  loop s = 0 for i < n
    s + i

def last (n: i64): i64 =
  let s = loop s = 0 for i < n
    let k = s + i
    in k * 2
  in s

def long (n: i64): i64 =
  loop s = 0 while s < n
                   && s < 100
    s + 1
