-- Fourier transforms of any length, in time n log n; complex numbers are pairs, as in std/complex.
--
-- Powers of two: Stockham's algorithm.  Other lengths: Bluestein's, which makes a transform a
-- convolution, and that transforms of a power of two.

import "complex"

-- Fourier transforms of numbers with parts of a type R.t.
module mk_fft (R: real) = {
  module C = mk_complex R

  local def turn (part: i64) (whole: i64): C.complex =
    C.polar (R.i64 1) (R.i64 2 R.* R.pi R.* R.i64 part R./ R.i64 whole)

  -- n is a power of two; the sign of the angles is given.
  local def stockham [n] (sign: i64) (xs: [n]C.complex): [n]C.complex =
    let half = n / 2
    let turns = tabulate half (\k -> turn (sign * k) n)
    in loop xs for round < 63 - i64.i32 (i64.clz n) do
         let size = 1 << round
         in tabulate n (\i ->
              let k = i % size
              let j = i / (2 * size) * size + k
              let other = C.multiply turns[k * (half / size)] xs[j + half]
              in if i % (2 * size) < size then C.add xs[j] other else C.subtract xs[j] other)

  local def bluestein [n] (sign: i64) (xs: [n]C.complex): [n]C.complex =
    let m = 1 << (64 - i64.i32 (i64.clz (2 * n - 1)))
    let chirp k = turn (sign * (k * k % (2 * n))) (2 * n)
    let zero = C.of_real (R.i64 0)
    let as = tabulate m (\i -> if i < n then C.multiply xs[i] (chirp i) else zero)
    let bs = tabulate m (\i ->
               if i < n
               then C.conj (chirp i)
               else if i > m - n then C.conj (chirp (m - i)) else zero)
    let product = map2 C.multiply (stockham (-1) as) (stockham (-1) bs)
    let sums = stockham 1 product
    in tabulate n (\i -> C.scale (R.i64 1 R./ R.i64 m) (C.multiply sums[i] (chirp i)))

  local def transform [n] (sign: i64) (xs: [n]C.complex): [n]C.complex =
    if n & (n - 1) == 0 then stockham sign xs else bluestein sign xs

  -- | The discrete Fourier transform.
  --
  -- >>> fft_f32.fft [(1, 0), (2, 0)]
  -- [(3f32, 0f32), (-1, 0)]
  def fft [n] (xs: [n]C.complex): [n]C.complex = transform (-1) xs

  -- | The inverse of the discrete Fourier transform.
  --
  -- >>> fft_f32.ifft [(3, 0), (-1, 0)]
  -- [(1f32, 0f32), (2, 0)]
  def ifft [n] (xs: [n]C.complex): [n]C.complex =
    map (C.scale (R.i64 1 R./ R.i64 n)) (transform 1 xs)

  -- | The first half of the transform of real numbers; the other half is its mirror image.
  --
  -- >>> fft_f32.rfft [1, 2]
  -- [(3f32, 0f32), (-1, 0)]
  def rfft [n] (xs: [n]R.t): [n / 2 + 1]C.complex =
    take (n / 2 + 1) (fft (map C.of_real xs))

  -- | The transform of a matrix: of its rows, then of its columns.
  --
  -- >>> fft_f32.fft_2d [[(1, 0), (2, 0)]]
  -- [[(3f32, 0f32), (-1, 0)]]
  def fft_2d [n] [m] (xss: [n][m]C.complex): [n][m]C.complex =
    transpose (map fft (transpose (map fft xss)))

  -- | The inverse of the transform of a matrix.
  --
  -- >>> fft_f32.ifft_2d [[(3, 0), (-1, 0)]]
  -- [[(1f32, 0f32), (2, 0)]]
  def ifft_2d [n] [m] (xss: [n][m]C.complex): [n][m]C.complex =
    transpose (map ifft (transpose (map ifft xss)))

  -- | The convolution on a ring, by transforms.
  --
  -- >>> fft_f32.convolve_ring [1, 2, 3, 4] [0, 1, 0, 0]
  -- [4f32, 1, 2, 3]
  def convolve_ring [n] (xs: [n]R.t) (ys: [n]R.t): [n]R.t =
    let product = map2 C.multiply (fft (map C.of_real xs)) (fft (map C.of_real ys))
    in map (.0) (ifft product)
}

module fft_f32 = mk_fft f32
module fft_f64 = mk_fft f64
