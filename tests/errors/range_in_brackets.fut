def harmonic (n: i64) = map (\k -> 1 / f64.i64 k) [1..n]
def below (n: i64) = [0 .. n - 1]
def unclear (n: i64) = (0..n)
def rest [n] (xs: [n]i64) = i64.sum xs[1..n]
