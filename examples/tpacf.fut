-- The angular correlation of galaxies (Landy and Szalay 1993): histograms of the angles between
-- all pairs of points on the sky, within the observed set, within random sets, and across.
--
-- What to look at: a histogram in two maps.  A work-item may have a point and count its pairs in
-- private memory, or all pairs share histograms that are updated by atomics.
-- ==
-- input { [29f64, 37.5f64, 35f64, 20f64, 37.5f64] [39f64, 38.5f64, 3f64, 18f64, 24f64] [[11f64,
--   15f64, 25f64, 32f64], [23f64, 6.5f64, 27f64, 34.5f64]] [[8.5f64, 21.5f64, 13.5f64, 36f64],
--   [2f64, 19f64, 35.5f64, 17f64]] }
-- output { [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 5, 2, 0, 0, 0, 0] [0i64, 0i64, 0i64,
--   0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 2i64, 3i64, 2i64, 10i64, 10i64, 13i64,
--   0i64, 0i64, 0i64, 0i64] [0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64,
--   0i64, 0i64, 0i64, 0i64, 3i64, 6i64, 3i64, 0i64, 0i64, 0i64, 0i64] }
-- random input { [20]f64 [20]f64 [3][17]f64 [3][17]f64 }
-- auto output
-- "small" notest random input { [487]f64 [487]f64 [100][487]f64 [100][487]f64 }
-- "medium" notest random input { [4096]f64 [4096]f64 [100][4096]f64 [100][4096]f64 }
-- "one set" notest random input { [16384]f64 [16384]f64 [1][16384]f64 [1][16384]f64 }

-- Five bins for each power of ten from 1 to 10000 minutes of arc, and one beyond either end.
def edges: i64 = 21
def bins: i64 = 22

-- The cosines of the angles between bins, falling.
def cosines: [edges]f64 =
  tabulate edges (\k -> f64.cos (10 ** (f64.i64 k / 5) / 60 * f64.pi / 180))

type point = (f64, f64, f64)

-- A point of the unit sphere from its right ascension and declination in degrees.
def point (ascension: f64) (declination: f64): point =
  let (a, d) = (ascension * f64.pi / 180, declination * f64.pi / 180)
  in (f64.cos a * f64.cos d, f64.sin a * f64.cos d, f64.sin d)

-- How many edges are at a smaller angle, by binary search.
def bin (limits: [edges]f64) ((a, b, c): point) ((x, y, z): point): i64 =
  let cosine = a * x + b * y + c * z
  in (loop (low, high) = (0, edges) while low < high do
        let middle = (low + high) / 2
        in if cosine < limits[middle] then (middle + 1, high) else (low, middle)).0

def count [n] (indices: [n]i64): *[bins]i32 =
  reduce_by_index (replicate bins 0) (+) 0 indices (replicate n 1)

def total [n] (histograms: [n][bins]i32): *[bins]i32 =
  map i32.sum (transpose histograms)

def within [n] (limits: [edges]f64) (ps: [n]point): *[bins]i32 =
  total (map (\i -> count (map (\j -> if i < j then bin limits ps[i] ps[j] else -1) (iota n)))
             (iota n))

def across [n][m] (limits: [edges]f64) (ps: [n]point) (qs: [m]point): *[bins]i32 =
  total (map (\p -> count (map (bin limits p) qs)) ps)

def over_sets [s] (histograms: [s][bins]i32): *[bins]i64 =
  map (\counts -> i64.sum (map i64.i32 counts)) (transpose histograms)

-- Pairs within the data, across data and random sets, and within random sets.
entry main [n][s][m] (ascensions: [n]f64) (declinations: [n]f64)
                     (random_ascensions: [s][m]f64) (random_declinations: [s][m]f64)
                   : ([bins]i32, [bins]i64, [bins]i64) =
  let limits = cosines
  let data = map2 point ascensions declinations
  let sets = map2 (map2 point) random_ascensions random_declinations
  in (within limits data,
      over_sets (map (across limits data) sets),
      over_sets (map (within limits) sets))
