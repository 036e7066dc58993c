type state [n] = {cells: [n]i32, time: i64}
def tick [n] (s: state [n]): *state [n] =
  let cells = s.cells with [s.time % n] = 1
  in {cells, time = s.time + 1}

def relax [n] (xs: [n]f64): [n]f64 =
  loop ys = xs for i < n - 2 do
    ys with [i + 1] = (ys[i] + ys[i + 2]) / 2

def paired [n] (xs: [n]f64): [n]f64 =
  let (ys, _) = loop (ys, k) = (xs, 0) while k < n do (ys with [k] = 0, k + 1)
  in ys

def swap [n][m] (a: *[n][m]f64) (i: i64) (j: i64): *[n][m]f64 =
  let upper = a[i]
  let a[i] = copy a[j]
  let a[j] = upper
  in a

def grown [n][k] (counts: *[k]i64) (bucket: [n]i64) =
  let after = reduce_by_index counts (+) 0 bucket (replicate n 1)
  in map2 (-) after counts

def first [n] (xs: [n]f64): [n]f64 =
  let xs[0] = 1
  in xs
