def radians (deg: f64): f64 = deg * f64.pi / 180

square :: f64 -> f64
def square (t: f64) = t * t

norm :: Floating a => a -> a
def norm (t: f64): f64 = f64.abs t

entry main (x: f64): f64 = square (radians x)
