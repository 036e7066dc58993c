def first [n] (xs: *[n]i32): *[n]i32 =
  xs[0] = 1
  xs
def less [n] (xs: *[n]f64): *[n]f64 = loop xs for i < n do xs[i] -= 1
def defined [n] (xs: *[n]i32) (v: i32): *[n]i32 =
  let xs[0] := v
  in xs
def two (x: i64): i64 = let y = x + 1, z = y * 2 in z
def cleared [n] (a: *[n][n]f32): *[n][n]f32 = loop a for i < n do a with [i; i] = 0
