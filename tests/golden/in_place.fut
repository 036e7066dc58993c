-- stages: core opt flat imp
entry main [n] (xs: *[n]i32): *[n]i32 =
  loop xs for i < n - 1 do xs with [i + 1] = xs[i] + xs[i + 1]
