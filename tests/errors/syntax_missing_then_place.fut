def leaky (slope: f32) (x: f32): f32 =
  if x > 0 x else slope * x

def lines (n: i64): i64 =
  if n > 3
    n + 1
  else n

def called (n: i64): i64 = if i64.max n 3 > 4 i64.max n 7 else 3

def several_lines (c: bool) (x: i32): i32 =
  if c && (x > 3
    || x < 1) x else 3

def grouped (n: i64): i64 =
  let k = if n > 3 (n + 1) else n
  in k

def defined (n: i64): i64 =
  if n > 3 let m = n + 1 in m * 2 else n
