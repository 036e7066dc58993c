-- Matrix products of shrinking size in a loop (Breddam 2019, listing 1.6).
--
-- What to look at: iteration i multiplies an (n/k)×(n·k) by an (n·k)×(n/k) matrix, k = 2^i, so
-- one threshold is compared with a different amount of parallelism in every iteration.  The
-- tuner times each version iteration by iteration and needs no search.
-- ==
-- input { [[1f32, 2f32], [3f32, 4f32]] [[1f32, 0f32], [0f32, 1f32]] }
-- auto output
-- random input { [8][8]f32 [8][8]f32 }
-- "64" notest random input { [64][64]f32 [64][64]f32 }
-- "128" notest random input { [128][128]f32 [128][128]f32 }
-- "256" notest random input { [256][256]f32 [256][256]f32 }

def matmul [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 =
  map (\xs -> map (\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose yss)) xss

def log2 (n: i64): i64 =
  (loop (left, steps) = (n, 0) while left > 1 do (left / 2, steps + 1)).1

-- The side n is a power of two.
entry main [n] (a: [n][n]f32) (b: [n][n]f32): [][]f32 =
  (loop (_, xs) = ([[0f32]], flatten a) for i < 1 + log2 n do
     let k = 1 << i
     let rows = n / k
     let cols = n * k
     let xss = unflatten (xs :> [rows * cols]f32)
     let yss = unflatten (flatten b :> [cols * rows]f32)
     let product = matmul xss yss
     let sums = map2 (\x p -> map (\j -> if j < rows then x[j] + p[j] else x[j]) (iota cols))
                     xss product
     in (product, flatten sums :> [n * n]f32)).0
