-- The log likelihood of points under a mixture of Gaussians, and its gradient.
--
-- What to look at: the gradient is a reverse sweep over a reduction in two maps.  Components are
-- free names of the map over points, so what each point adds to them becomes a product of matrices.
-- A component has the logarithm of its weight, its mean, and the factor of its inverse covariance:
-- logarithms of the diagonal, and the rows below of it, packed.
-- ==
-- random input { [7]f32 [7][3]f32 [7][3]f32 [7][3]f32 [40][3]f32 }
-- auto output
-- "small" notest random input { [16]f32 [16][8]f32 [16][8]f32 [16][28]f32 [4096][8]f32 }
-- "large" notest random input { [32]f32 [32][16]f32 [32][16]f32 [32][120]f32 [100000][16]f32 }

def log_sum_exp (xs: []f32): f32 =
  let top = f32.maximum xs
  in top + f32.log (f32.sum (map (\x -> f32.exp (x - top)) xs))

def triangle [d][m] (logs: [d]f32) (below: [m]f32): [d][d]f32 =
  tabulate_2d d d (\i j -> if j < i then below[i * (i - 1) / 2 + j]
                           else if i == j then f32.exp logs[i]
                           else 0)

def log_likelihood [n][k][d][m] (points: [n][d]f32)
                                (weights: [k]f32, means: [k][d]f32, logs: [k][d]f32,
                                 below: [k][m]f32): f32 =
  let factors = map2 triangle logs below
  let constants = map2 (\weight diagonal -> weight + f32.sum diagonal) weights logs
  let of_point point =
    log_sum_exp
      (map3 (\constant mean factor ->
               let away = map2 (-) point mean
               let square = f32.sum (map (\row -> f32.sum (map2 (*) row away) ** 2) factor)
               in constant - square / 2)
            constants means factors)
  let normal = 0.5 * f32.i64 d * f32.log (2 * f32.pi)
  in f32.sum (map of_point points) - f32.i64 n * (log_sum_exp weights + normal)

entry likelihood [n][k][d][m] (weights: [k]f32) (means: [k][d]f32) (logs: [k][d]f32)
                              (below: [k][m]f32) (points: [n][d]f32): f32 =
  log_likelihood points (weights, means, logs, below)

entry main [n][k][d][m] (weights: [k]f32) (means: [k][d]f32) (logs: [k][d]f32)
                        (below: [k][m]f32) (points: [n][d]f32)
                      : (f32, [k]f32, [k][d]f32, [k][d]f32, [k][m]f32) =
  let (value, (by_weights, by_means, by_logs, by_below)) =
    vjp2 (log_likelihood points) (weights, means, logs, below) 1
  in (value, by_weights, by_means, by_logs, by_below)
