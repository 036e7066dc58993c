def body (n: i64): *[n]i64 =
  loop xs = replicate n 0 for i < n do
    xs[i] = i

def nested (n: i64): *[n]bool =
  loop flags = replicate n true for i < n do
    if i >= 2 && flags[i] then
      (loop fs = flags for k < n / i - 1 do
         fs[(k + 2) * i] = false)
    else flags

def branch (n: i64): *[n]i64 =
  loop xs = replicate n 0 for i < n do
    if i > 3 then xs[i] = i else xs

def branch_lines (n: i64): *[n]i64 =
  loop xs = replicate n 0 for i < n do
    if i > 3 then
      xs[i] = i
    else xs

def alone (n: i64): *[n]i64 =
  loop xs = replicate n 0 for i < n do (xs[i] = i)

def of_matrix (n: i64): *[n][n]i64 =
  loop xss = replicate n (replicate n 0) for i < n do
    xss[i][0] = i

def of_field (n: i64): {a: i64} =
  let r = {a = 0}
  r.a = n
  in r
