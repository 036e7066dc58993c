module type space = { type point val distance: point -> point -> f64 }
module plane: space with type point = f64 = {
  type point = f64
  def distance (a: f64) (b: f64): f64 = f64.abs (a - b)
}
