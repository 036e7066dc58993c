import "std/stats"
module m = { def two = 2i32 }
entry f [n] (xs: [n]f64): f64 = stats.mean xs
entry g (x: i32) = x * M.two
entry h [n] (xs: [n]f64): f64 = stats_f64.average xs
