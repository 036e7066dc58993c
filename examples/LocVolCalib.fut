-- Calls under local volatility, one for each strike: Crank-Nicolson steps backwards in time, by
-- alternating directions (Andreasen and Huge 2011).
--
-- What to look at: two batches of tridiagonal systems in every step, one for each direction.  They
-- are solved by scans, so a work-group can have a system; with many strikes a work-item each wins.
-- ==
-- input { 5i64 49i64 3i64 4i64 0.03f32 5f32 0.2f32 0.6f32 0.5f32 }
-- output { [0.03f32, 0.029f32, 0.027999999f32, 0.027265811f32, 0.026964534f32] }
-- input { 2i64 9i64 11i64 3i64 0.03f32 5f32 0.2f32 0.6f32 0.5f32 }
-- auto output
-- "small" notest input { 16i64 32i64 256i64 256i64 0.03f32 5f32 0.2f32 0.6f32 0.5f32 }
-- "medium" notest input { 128i64 256i64 32i64 64i64 0.03f32 5f32 0.2f32 0.6f32 0.5f32 }
-- "large" notest input { 256i64 256i64 256i64 64i64 0.03f32 5f32 0.2f32 0.6f32 0.5f32 }

type coefficients = (f32, f32, f32)

-- The second derivative on an uneven grid; nothing at its ends.
def second_derivative [n] (xs: [n]f32): [n]coefficients =
  tabulate n (\i ->
    if i == 0 || i == n - 1 then (0, 0, 0)
    else let left = xs[i] - xs[i - 1]
         let right = xs[i + 1] - xs[i]
         in (2 / left / (left + right), -2 * (1 / left + 1 / right) / (left + right),
             2 / right / (left + right)))

-- An operator with three diagonals at one point of a row; beyond the ends there is nothing.
def apply [n] ((a, b, c): coefficients) (xs: [n]f32) (i: i64): f32 =
  (if i > 0 then a * xs[i - 1] else 0) + b * xs[i] + (if i < n - 1 then c * xs[i + 1] else 0)

-- Solve a system with diagonals a (from the second row), b, and c (to the last but one).
--
-- The pivots u[i] = b[i] - a[i] c[i-1] / u[i-1] are quotients of linear functions, that is
-- products of matrices [[1, p], [q, r]] up to a factor; the substitutions compose functions
-- x -> k + m x.
def tridiagonal [n] (rows: [n]coefficients) (ds: [n]f32): [n]f32 =
  let below i = if i > 0 then rows[i].0 else 0
  let steps = tabulate n (\i ->
                let pivot = 1 / rows[i].1
                in (if i > 0 then -rows[i].0 * rows[i - 1].2 * pivot else 0, pivot, 0))
  let product (p, q, r) (p', q', r') =
    let scale = 1 / (1 + p' * q)
    in ((p + p' * r) * scale, (q' + r' * q) * scale, (q' * p + r' * r) * scale)
  let inverses = map (.1) (scan product (0, 0, 1) steps)
  let compose (k, m) (k', m') = (k' + m' * k, m' * m)
  let forward = tabulate n (\i ->
                  (ds[i], if i > 0 then -(below i) * inverses[i - 1] else 0))
  let ys = map (.0) (scan compose (0, 1) forward)
  let backward = tabulate n (\k ->
                   let i = n - 1 - k
                   in (ys[i] * inverses[i],
                       if k > 0 then -rows[i].2 * inverses[i] else 0))
  let xs = map (.0) (scan compose (0, 1) backward)
  in reverse xs

-- The price at the money of a call.
def price [nx][ny] (steps: i64) (xs: [nx]f32) (ys: [ny]f32) (at: (i64, i64))
                   (horizon: f32) (nu: f32) (beta: f32) (strike: f32): f32 =
  let dxx = second_derivative xs
  let dyy = second_derivative ys
  let dt = horizon / f32.i64 steps
  let scaled k (a, b, c): coefficients = (k * a, k * b, k * c)
  let implicit (a, b, c): coefficients = (-0.5 * a, 1 / dt - 0.5 * b, -0.5 * c)
  let payoff = map (\x -> replicate ny (f32.max 0 (x - strike))) xs
  let values =
    loop values = payoff for back < steps do
      let time = dt * f32.i64 (steps - 1 - back)
      let along_x i j =
        let variance = f32.exp (2 * (beta * f32.log xs[i] + ys[j] - 0.5 * nu * nu * time))
        in scaled (0.5 * variance) dxx[i]
      let along_y j = scaled (0.5 * nu * nu) dyy[j]
      let columns = transpose values
      let vs = tabulate_2d nx ny (\i j -> apply (along_y j) values[i] j)
      let us = tabulate_2d ny nx (\j i ->
                 values[i, j] / dt + 0.5 * apply (along_x i j) columns[j] i + vs[i, j])
      let us = map2 (\j u -> tridiagonal (tabulate nx (\i -> implicit (along_x i j))) u)
                    (iota ny) us
      in map2 (\u v -> tridiagonal (tabulate ny (\j -> implicit (along_y j)))
                                   (map2 (\x y -> x / dt - 0.5 * y) u v))
              (transpose us) vs
  in values[at.0, at.1]

-- One price for each of the strikes 0, 0.001, 0.002, ...
entry main (strikes: i64) (nx: i64) (ny: i64) (nt: i64)
           (spot: f32) (horizon: f32) (alpha: f32) (nu: f32) (beta: f32): [strikes]f32 =
  let dx = 20 * alpha * spot * f32.sqrt horizon / f32.i64 nx
  let dy = 10 * nu * f32.sqrt horizon / f32.i64 ny
  let x0 = i64.f32 (spot / dx)
  let y0 = ny / 2
  let xs = tabulate nx (\i -> f32.i64 (i - x0) * dx + spot)
  let ys = tabulate ny (\j -> f32.i64 (j - y0) * dy + f32.log alpha)
  in tabulate strikes (\k ->
       price (nt - 1) xs ys (x0, y0) horizon nu beta (0.001 * f32.i64 k))
