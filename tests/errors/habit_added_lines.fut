def first (xs: []f64): f64 =
  let s = 0
  s += xs[0]
  in s

def second (xs: []f64): f64 =
  let s = 0
  s -= xs[0]
  s * 2

def choice (n: i64): i64 = if n > 3 then n += 1 else n

def counted (n: i64): i64 =
  loop s = 0 for i < n do s **= 2

def (%=) (x: i32) (y: i32): i32 = x % y

def own (s: i32): i32 =
  s %= 2

-- Haskell has this operator, too.
def unequal (x: i32) (y: i32): bool =
  if x == 1 &&
     x /= y then x /= 3 else false
