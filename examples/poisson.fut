-- Poisson's equation on a grid, by conjugate gradients.
--
-- What to look at: the scalars of an iteration stay on the device, where the kernels that need
-- them look; so does the condition of the loop, and one kernel can run many iterations.
-- ==
-- input { 1e-12 100i32 [[4f64, 4f64], [4f64, 4f64]] }
-- output { [[2f64, 2f64], [2f64, 2f64]] 1i32 }
-- input { 1e-12 100i32 [[0f64, 0f64, 0f64]] }
-- output { [[0f64, 0f64, 0f64]] 0i32 }
-- "small" notest random input { 1e-9 1000i32 [64][64]f64 }
-- "medium" notest random input { 1e-9 1000i32 [256][256]f64 }
-- "large" notest random input { 1e-9 1000i32 [1024][1024]f64 }

-- Four times a point less its neighbours, with zeros around the grid.
def laplacian [n][m] (xs: [n][m]f64): [n][m]f64 =
  let at i j = if i < 0 || i >= n || j < 0 || j >= m then 0 else xs[i, j]
  in tabulate_2d n m (\i j ->
       4 * xs[i, j] - at (i - 1) j - at (i + 1) j - at i (j - 1) - at i (j + 1))

def dot [n][m] (xs: [n][m]f64) (ys: [n][m]f64): f64 =
  f64.sum (map2 (*) (flatten xs) (flatten ys))

def axpy [n][m] (a: f64) (xs: [n][m]f64) (ys: [n][m]f64): [n][m]f64 =
  map2 (map2 (\x y -> a * x + y)) xs ys

-- The solution for a right-hand side, until the residual is `tolerance` times as large, and the
-- iterations that it took.
entry main [n][m] (tolerance: f64) (limit: i32) (b: [n][m]f64): ([n][m]f64, i32) =
  let start = dot b b
  let (x, _, _, _, iterations) =
    loop (x, r, p, rr, i) = (replicate n (replicate m 0), b, b, start, 0)
    while rr > tolerance * tolerance * start && i < limit do
      let ap = laplacian p
      let alpha = rr / dot p ap
      let r' = axpy (-alpha) ap r
      let rr' = dot r' r'
      in (axpy alpha p x, r', axpy (rr' / rr) p r', rr', i + 1)
  in (x, iterations)
