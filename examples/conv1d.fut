-- One-dimensional convolution: every point of a signal is a weighted sum of those that follow it.
--
-- What to look at: neighbouring points share all but one of the elements that they read, and all
-- points share the filter.  `runelift explain access` calls the first a neighbourhood.
-- ==
-- input { [1f32, 2f32, 3f32, 4f32] [1f32, 0f32, -1f32] }
-- output { [-2f32, -2f32] }
-- input { [1f32, 2f32] [0.5f32] }
-- output { [0.5f32, 1f32] }
-- random input { [75]f32 [9]f32 }
-- auto output
-- random input { [160]f32 [37]f32 }
-- auto output
-- "small" notest random input { [32767]f32 [16384]f32 }
-- "medium" notest random input { [65535]f32 [32768]f32 }
-- "large" notest random input { [131071]f32 [65536]f32 }

entry main [n][m] (signal: [n]f32) (filter: [m]f32): []f32 =
  tabulate (n - m + 1) (\i ->
    reduce (+) 0 (map (\k -> signal[i + k] * filter[k]) (iota m)))
