def total [n] (xs: [n]f64): f64 =
  let s = loop s = 0 for i < n do
    s *= xs[i]  -- the product
    in s
  let mean = s / f64.i64 n
  in mean

entry main (xs: []f64): f64 = total xs + unknown
