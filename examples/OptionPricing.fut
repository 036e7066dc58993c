-- The price of an Asian basket call by quasi-Monte Carlo: Sobol numbers, a Brownian bridge, and
-- Black and Scholes's model of correlated stocks (Glasserman 2003, chapters 3 and 5).
--
-- What to look at: a path is long enough to be parallel itself, but the outer map alone fills the
-- device: what is best depends on the number of paths.  The bridge updates a row in place.
-- ==
-- input { 7i64 [[[536870912, 268435456, 134217728, 67108864, 33554432, 16777216, 8388608,
--   4194304, 2097152, 1048576, 524288, 262144, 131072, 65536, 32768, 16384, 8192, 4096, 2048,
--   1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1], [536870912, 805306368, 671088640, 1006632960,
--   570425344, 855638016, 713031680, 1069547520, 538968064, 808452096, 673710080, 1010565120,
--   572653568, 858980352, 715816960, 1073725440, 536879104, 805318656, 671098880, 1006648320,
--   570434048, 855651072, 713042560, 1069563840, 538976288, 808464432, 673720360, 1010580540,
--   572662306, 858993459]], [[536870912, 805306368, 402653184, 603979776, 973078528, 385875968,
--   595591168, 826277888, 438304768, 657457152, 999817216, 358875136, 538574848, 807862272,
--   406552576, 605372416, 975183872, 389033984, 597170176, 828646400, 437926400, 656873216,
--   1002152832, 357921088, 536885792, 805312304, 402662296, 603992420, 973085210, 385885991],
--   [536870912, 805306368, 134217728, 335544320, 1040187392, 486539264, 679477248, 616562688,
--   908066816, 156237824, 376963072, 968097792, 503447552, 755171328, 545292288, 817971200,
--   136568832, 340905984, 1056606208, 494291968, 673276416, 609457408, 922347392, 158784320,
--   371195936, 961544240, 511180808, 766771220, 537002046, 805503005]], [[536870912, 268435456,
--   134217728, 738197504, 1040187392, 922746880, 511705088, 658505728, 379584512, 200278016,
--   676855808, 1009516544, 916586496, 468779008, 542670848, 271499264, 144826368, 754085888,
--   1054435328, 929870848, 503351808, 654495488, 377744768, 188970688, 681697312, 1022521360,
--   920217608, 460108844, 536906302, 268619575], [536870912, 268435456, 402653184, 201326592,
--   838860800, 150994944, 360710144, 1052770304, 941621248, 470810624, 706215936, 84672512,
--   665976832, 935919616, 766869504, 586072064, 301998080, 419434496, 226498560, 851446784,
--   169882112, 353372416, 1066931584, 1003241152, 529676320, 735648784, 128821784, 669173004,
--   900859826, 784934857]]] [0.5f32, 1f32, 2f32] [[1f32, 0f32], [0.6f32, 0.8f32]] [0.2f32,
--   0.3f32] 0.05f32 0.95f32 }
-- output { 0.116789035f32 }

-- ==
-- entry: synthetic
-- "small" notest input { 8388608i64 1i64 1i64 }
-- "medium" notest input { 1048576i64 5i64 3i64 }
-- "large" notest input { 131072i64 367i64 3i64 }

-- Sobol numbers have 30 bits.
def bits: i64 = 30

-- Element i of the sequence with these direction numbers; only the first is 0.
def sobol (directions: [bits]i32) (i: i32): i32 =
  let gray = i ^ (i >> 1)
  in reduce (^) 0 (map2 (\b v -> v * ((gray >> i32.i64 b) & 1)) (iota bits) directions)

def horner [n] (coefficients: [n]f32) (x: f32): f32 =
  loop y = 0 for c in coefficients do y * x + c

-- The inverse of the normal distribution function up to the median, by rational functions
-- (Acklam 2003).
def lower_quantile (p: f32): f32 =
  if p < 0.02425
  then let q = f32.sqrt (-2 * f32.log p)
       in horner [-7.784894002430293e-3, -0.3223964580411365, -2.400758277161838,
                  -2.549732539343734, 4.374664141464968, 2.938163982698783] q
          / horner [7.784695709041462e-3, 0.3224671290700398, 2.445134137142996,
                    3.754408661907416, 1] q
  else let q = p - 0.5
       let r = q * q
       in q * horner [-39.69683028665376, 220.9460984245205, -275.9285104469687,
                      138.3577518672690, -30.66479806614716, 2.506628277459239] r
          / horner [-54.47609879822406, 161.5858368580409, -155.6989798598866,
                    66.80131188771972, -13.28068155288572, 1] r

-- A normal number from the bits of a uniform one; the upper half mirrors the lower, where small
-- differences are not lost.
def normal (u: i32): f32 =
  let one = 1i32 << i32.i64 bits
  let tail p = lower_quantile (f32.i32 p / f32.i32 one)
  in if u > one / 2 then -(tail (one - u)) else tail u

-- How a Brownian path at time l follows from the times around it that are known: coarse steps
-- first, so that the first numbers of the sequence, which are best, decide most.
type knot = {at: i64, left: i64, right: i64, left_weight: f32, right_weight: f32, deviation: f32}

def knots [d] (times: [d]f32): [d]knot =
  let time i = if i == 0 then 0 else times[i - 1]
  let knot l =
    let step = l & -l
    let (left, right) = (l - step, l + step)
    in if right <= d
       then let all = time right - time left
            let (a, b) = (time l - time left, time right - time l)
            in {at = l, left, right, left_weight = b / all, right_weight = a / all,
                deviation = f32.sqrt (a * b / all)}
       else {at = l, left, right = left, left_weight = 1, right_weight = 0,
             deviation = f32.sqrt (time l - time left)}
  let rank l = let step = l & -l in d / (2 * step) + l / (2 * step)
  let ls = map (+ 1) (iota d)
  in map knot (scatter (replicate d 0) (map rank ls) ls)

def bridge [d][u] (ks: [d]knot) (normals: [d][u]f32): [d][u]f32 =
  let path =
    loop path = replicate (d + 1) (replicate u 0) for i < d do
      let k = ks[i]
      let row = map3 (\l r z -> k.left_weight * l + k.right_weight * r + k.deviation * z)
                     path[k.left] path[k.right] normals[i]
      in path with [k.at] = row
  in path[1:] :> [d][u]f32

-- The mean of all prices at all dates, each relative to its start.
def basket [d][u] (times: [d]f32) (factor: [u][u]f32) (volatilities: [u]f32) (rate: f32)
                  (path: [d][u]f32): f32 =
  let correlated = map (\zs -> map (\row -> f32.sum (map2 (*) row zs)) factor) path
  let price t z v = f32.exp ((rate - v * v / 2) * t + v * z)
  in f32.sum (map2 (\t zs -> f32.sum (map2 (price t) zs volatilities)) times correlated)
     / f32.i64 (d * u)

-- `factor` is the Cholesky factor of the correlations.
entry main [d][u] (paths: i64) (directions: [d][u][bits]i32) (times: [d]f32)
                  (factor: [u][u]f32) (volatilities: [u]f32) (rate: f32) (strike: f32): f32 =
  let ks = knots times
  let payoff i =
    let normals = map (map (\v -> normal (sobol v (i32.i64 i + 1)))) directions
    in f32.max 0 (basket times factor volatilities rate (bridge ks normals) - strike)
  in f32.exp (-rate * times[d - 1]) * f32.sum (map payoff (iota paths)) / f32.i64 paths

-- Directions that a generator of random numbers makes, so that any size can be timed.
entry synthetic (paths: i64) (d: i64) (u: i64): f32 =
  let direction k b =
    let noise = (u32.i64 (k * bits + b) * 2654435761) ^ 0x9e3779b9
    in i32.u32 ((2 * (noise >> 7 & ((1 << u32.i64 b) - 1)) + 1) << u32.i64 (bits - 1 - b))
  let directions = tabulate_3d d u bits (\i j b -> direction (i * u + j) b)
  in main paths directions (tabulate d (\i -> f32.i64 (i + 1) / 12))
          (tabulate_2d u u (\i j -> if j > i then 0 else f32.sqrt (1 / f32.i64 (i + 1))))
          (tabulate u (\i -> 0.1 + 0.05 * f32.i64 i)) 0.02 1
