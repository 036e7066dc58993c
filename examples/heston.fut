-- Calibration of Heston's model of stochastic volatility (Heston 1993): differential evolution
-- (Storn and Price 1997) looks for the parameters that explain the prices of calls.
--
-- What to look at: members of the population, quotes and nodes of an integral are three levels of
-- parallelism, and their sizes differ a lot.  Complex numbers come from a parametric module.
-- ==
-- input { 1 6i64 4i64 64i64 100f64 0.02f64 [90f64, 100f64, 110f64, 95f64] [0.5f64, 0.5f64, 1f64,
--   2f64] [13.0236f64, 6.274f64, 4.8188f64, 16.9805f64] }
-- output { 0.23998847542330623f64 4.915375811383128f64 0.03406379341613502f64 1.05f64
--   -0.3788674255367368f64 2.1153987605177687f64 }
-- "few" notest input { 1 32i64 20i64 64i64 100f64 0.02f64 [90f64, 100f64, 110f64, 95f64]
--   [0.5f64, 0.5f64, 1f64, 2f64] [13.2f64, 6.9f64, 6.7f64, 19.6f64] }
-- "large" notest random input { 1 256i64 20i64 128i64 1f64 0.02f64 [2000]f64 [2000]f64 [2000]f64 }
-- "many members" notest random input { 1 8192i64 20i64 64i64 1f64 0.02f64 [32]f64 [32]f64 [32]f64 }

-- ==
-- entry: prices
-- input { 64i64 100f64 0.02f64 0.04f64 1.5f64 0.06f64 0.4f64 -0.6f64 [90f64, 100f64, 110f64,
--   95f64] [0.5f64, 0.5f64, 1f64, 2f64] }
-- output { [13.023617859090336f64, 6.274033984082081f64, 4.818819859220994f64,
--   16.98049678277522f64] }
-- "one option" notest random input { 1048576i64 1f64 0.02f64
--   0.04f64 1.5f64 0.06f64 0.4f64 -0.6f64 [1]f64 [1]f64 }
-- "many options" notest random input { 64i64 1f64 0.02f64
--   0.04f64 1.5f64 0.06f64 0.4f64 -0.6f64 [100000]f64 [100000]f64 }

-- Complex numbers over any type of reals.
module complex (R: real) = {
  type t = (R.t, R.t)

  def real (x: R.t): t = (x, R.i64 0)
  def scale (k: R.t) ((a, b): t): t = (k R.* a, k R.* b)
  def (+) ((a, b): t) ((c, d): t): t = (a R.+ c, b R.+ d)
  def (-) ((a, b): t) ((c, d): t): t = (a R.- c, b R.- d)
  def (*) ((a, b): t) ((c, d): t): t = (a R.* c R.- b R.* d, a R.* d R.+ b R.* c)
  def (/) ((a, b): t) ((c, d): t): t =
    let n = c R.* c R.+ d R.* d
    in ((a R.* c R.+ b R.* d) R./ n, (b R.* c R.- a R.* d) R./ n)
  def exp ((a, b): t): t = let r = R.exp a in (r R.* R.cos b, r R.* R.sin b)
  def abs ((a, b): t): R.t = R.sqrt (a R.* a R.+ b R.* b)
  def log (z: t): t = (R.log (abs z), R.atan2 z.1 z.0)
  -- The root with a real part that is not negative.
  def sqrt (z: t): t =
    let r = abs z
    let part x = R.sqrt (R.max (R.i64 0) x R./ R.i64 2)
    let im = part (r R.- z.0)
    in (part (r R.+ z.0), if z.1 R.< R.i64 0 then R.neg im else im)
}

module c = complex f64

type parameters = {v0: f64, kappa: f64, theta: f64, sigma: f64, rho: f64}

-- The characteristic function of the logarithm of the relative price at (u - i/2), without drift,
-- in the form that stays on one branch of the logarithm (Albrecher et al. 2007).
def characteristic (p: parameters) (maturity: f64) (u: f64): c.t =
  let s2 = p.sigma * p.sigma
  let (pull, weight) = (p.kappa * p.theta / s2, p.v0 / s2)
  let tilt = c.scale (p.rho * p.sigma) (0.5, u)
  let square = s2 * (u * u + 0.25)
  let b = c.(real p.kappa - tilt)
  let d = c.(sqrt (b * b + real square))
  let g = c.((b - d) / (b + d))
  let decay = c.(exp (scale (f64.neg maturity) d))
  let one = c.real 1
  let level = c.(scale maturity (b - d) - scale 2 (log ((one - g * decay) / (one - g))))
  let start = c.((b - d) * (one - decay) / (one - g * decay))
  in c.(exp (scale pull level + scale weight start))

-- A call, by Lewis's integral.  The nodes are even in t for u = exp (t - exp (-t)), which
-- converges doubly exponentially (Takahasi and Mori 1974).
def price (nodes: i64) (spot: f64) (rate: f64) (p: parameters) (strike: f64) (maturity: f64): f64 =
  let k = f64.log (spot / strike) + rate * maturity
  let step = 8 / f64.i64 nodes
  let integrand j =
    let t = -3 + step * (f64.i64 j + 0.5)
    let u = f64.exp (t - f64.exp (-t))
    let (re, _) = c.(exp (0, u f64.* k) * characteristic p maturity u)
    in re / (u * u + 0.25) * u * (1 + f64.exp (-t))
  let integral = step * f64.sum (map integrand (iota nodes))
  in spot - f64.sqrt (spot * strike) * f64.exp (-rate * maturity / 2) / f64.pi * integral

-- Five numbers between 0 and 1 as parameters.
def parameters (x: [5]f64): parameters =
  {v0 = 0.01 + 0.3 * x[0], kappa = 0.2 + 6 * x[1], theta = 0.01 + 0.3 * x[2],
   sigma = 0.05 + x[3], rho = -0.95 + 1.5 * x[4]}

-- A random number that depends on where it is used and on nothing else.
def random (seed: i32) (generation: i64) (member: i64) (use: i64): f64 =
  let mix (h: u32) (x: u32): u32 =
    let h = (h ^ x) * 0x9e3779b1
    in (h ^ (h >> 15)) * 0x85ebca6b
  let h = mix (mix (mix (u32.i32 seed) (u32.i64 generation)) (u32.i64 member)) (u32.i64 use)
  in f64.u32 (h ^ (h >> 13)) / 4294967296

-- A member from three others, of which it takes a coordinate with a probability of 0.9.
def trial [m] (draw: i64 -> i64 -> f64) (population: [m][5]f64) (i: i64): [5]f64 =
  let other use = population[i64.f64 (draw i use * f64.i64 m)]
  let (a, b, c) = (other 0, other 1, other 2)
  in tabulate 5 (\k -> if draw i (3 + k) < 0.9
                       then f64.max 0 (f64.min 1 (a[k] + 0.6 * (b[k] - c[k])))
                       else population[i, k])

-- Prices of calls for the given parameters.
entry prices [q] (nodes: i64) (spot: f64) (rate: f64)
                 (v0: f64) (kappa: f64) (theta: f64) (sigma: f64) (rho: f64)
                 (strikes: [q]f64) (maturities: [q]f64): [q]f64 =
  map2 (price nodes spot rate {v0, kappa, theta, sigma, rho}) strikes maturities

-- The best parameters, and the root of the mean of the squares of their errors.
entry main [q] (seed: i32) (members: i64) (generations: i64) (nodes: i64) (spot: f64) (rate: f64)
               (strikes: [q]f64) (maturities: [q]f64) (market: [q]f64)
             : (f64, f64, f64, f64, f64, f64) =
  let loss x =
    let p = parameters x
    let errors = map3 (\k t y -> (price nodes spot rate p k t - y) ** 2) strikes maturities market
    in f64.sqrt (f64.sum errors / f64.i64 q)
  let first = tabulate_2d members 5 (random seed 0)
  let (population, losses) =
    loop (population, losses) = (first, map loss first) for g < generations do
      let trials = map (trial (random seed (g + 1)) population) (iota members)
      in unzip (map4 (\x l y l' -> if l' < l then (y, l') else (x, l))
                     population losses trials (map loss trials))
  let (best, error) = reduce_comm (\(i, x) (j, y) -> if x < y || (x == y && i < j) then (i, x)
                                                     else (j, y))
                                  (members, f64.inf) (zip (iota members) losses)
  let p = parameters population[best]
  in (p.v0, p.kappa, p.theta, p.sigma, p.rho, error)
