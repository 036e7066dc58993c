-- No follow-up errors, though 'let' might begin a declaration here.
entry main [n] (xs: [n]f64): (f64, f64) =
  let (s, q) =
    loop (s, q) = (0, 0) for i < n do
      s += xs[i]
      in (s, q + xs[i] * xs[i])
  let mean = s / f64.i64 n
  let variance = q / f64.i64 n - mean * mean
  in (mean, variance)
