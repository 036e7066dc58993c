def f (x: f64) (y: f64): f64 = x * y
def slopes (x: f64) (y: f64) = vjp f x y 1
