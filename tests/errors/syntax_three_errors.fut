def mean [n] (xs: [n]f32): f32 = reduce (+) 0 xs / f32.i64 n)

module scaled = {
  def factor: f32 = 2
  def scale (x: f32) = (x * factor
  def shift (x: f32): f32 = x + offset
}

def centred [n] (xs: [n]f32): [n]f32 =
  let m = mean xs
  map (\x -> x - m) xs

entry main [n] (xs: [n]f32): f64 = mean (map scaled.scale (centred xs))
entry spread [n] (xs: [n]f32): f32 = f32.maximum xs - f32.minimum ys
