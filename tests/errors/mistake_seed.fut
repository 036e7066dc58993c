def loss [n] (xs: [n]f64) (a: f64, b: f64): f64 = f64.sum (map (\x -> a * x + b) xs)
def pair [n] (xs: [n]f64) =
  let (da, db) = vjp (loss xs) (1, 2)
  in da + db
def record (x: f32) =
  let {u, v} = vjp (\(r: {u: f32, v: f32}) -> r.u * r.v) {u = x, v = x}
  in u + v
