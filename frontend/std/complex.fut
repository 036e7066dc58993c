-- Complex numbers: pairs of a real and an imaginary part.

-- Complex numbers with parts of a type R.t.
module mk_complex (R: real) = {
  type complex = (R.t, R.t)

  -- | The complex number of a real one.
  --
  -- >>> complex_f32.of_real 3
  -- (3f32, 0f32)
  def of_real (x: R.t): complex = (x, R.i64 0)

  -- | The number of a length in the direction of an angle.
  --
  -- >>> complex_f32.polar 2 0
  -- (2f32, 0f32)
  def polar (length: R.t) (angle: R.t): complex =
    (length R.* R.cos angle, length R.* R.sin angle)

  -- | The sum.
  --
  -- >>> complex_f32.add (1, 2) (3, 4)
  -- (4f32, 6f32)
  def add ((a, b): complex) ((c, d): complex): complex = (a R.+ c, b R.+ d)

  -- | The difference.
  --
  -- >>> complex_f32.subtract (1, 2) (3, 5)
  -- (-2f32, -3f32)
  def subtract ((a, b): complex) ((c, d): complex): complex = (a R.- c, b R.- d)

  -- | The product.
  --
  -- >>> complex_f32.multiply (1, 2) (3, 4)
  -- (-5f32, 10f32)
  def multiply ((a, b): complex) ((c, d): complex): complex =
    (a R.* c R.- b R.* d, a R.* d R.+ b R.* c)

  -- | The quotient.
  --
  -- >>> complex_f32.divide (-5, 10) (3, 4)
  -- (1f32, 2f32)
  def divide ((a, b): complex) ((c, d): complex): complex =
    let size = c R.* c R.+ d R.* d
    in ((a R.* c R.+ b R.* d) R./ size, (b R.* c R.- a R.* d) R./ size)

  -- | A real number times a complex one.
  --
  -- >>> complex_f32.scale 2 (1, 3)
  -- (2f32, 6f32)
  def scale (x: R.t) ((a, b): complex): complex = (x R.* a, x R.* b)

  -- | The conjugate, whose imaginary part has the other sign.
  --
  -- >>> complex_f32.conj (1, 2)
  -- (1f32, -2f32)
  def conj ((a, b): complex): complex = (a, R.neg b)

  -- | The absolute value.
  --
  -- >>> complex_f32.abs (3, 4)
  -- 5f32
  def abs ((a, b): complex): R.t = R.hypot a b

  -- | The angle from the real axis, between -pi and pi.
  --
  -- >>> complex_f32.arg (0, 1)
  -- 1.5707964f32
  def arg ((a, b): complex): R.t = R.atan2 b a

  -- | The exponential.
  --
  -- >>> complex_f32.exp (0, 0)
  -- (1f32, 0f32)
  def exp ((a, b): complex): complex = polar (R.exp a) b

  -- | The logarithm of which the imaginary part is between -pi and pi.
  --
  -- >>> complex_f32.log (1, 0)
  -- (0f32, 0f32)
  def log (z: complex): complex = (R.log (abs z), arg z)

  -- | The root of which the real part is not negative.
  --
  -- >>> complex_f32.sqrt (-4, 0)
  -- (0f32, 2f32)
  def sqrt (z: complex): complex = polar (R.sqrt (abs z)) (arg z R./ R.i64 2)

  -- | The sum of an array.
  --
  -- >>> complex_f32.sum [(1, 2), (3, 4)]
  -- (4f32, 6f32)
  def sum [n] (zs: [n]complex): complex = reduce add (of_real (R.i64 0)) zs
}

module complex_f32 = mk_complex f32
module complex_f64 = mk_complex f64
