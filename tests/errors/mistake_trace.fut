def a (x: f64) = trace "x:" (x + 1)
def b (x: f64) (y: f64) = trace x y
