-- The discrete Fourier transform of 2^k complex numbers, by Stockham's algorithm: after k rounds of
-- butterflies they are in order.
--
-- What to look at: a butterfly writes two elements of two arrays; writes at the same places are one
-- kernel, which also computes what is written.  The host knows all sizes beforehand, so one kernel can
-- do all rounds.
-- ==
-- input { [1f32, 2f32, 3f32, 4f32] [0f32, 0f32, 0f32, 0f32] }
-- output { [10f32, -2f32, -2f32, -2f32] [0f32, 2f32, 0f32, -2f32] }
-- random input { [256]f32 [256]f32 }
-- auto output
-- "small" notest random input { [1024]f32 [1024]f32 }
-- "large" notest random input { [1048576]f32 [1048576]f32 }

type complex = (f32, f32)

def plus ((a, b): complex) ((c, d): complex): complex = (a + c, b + d)
def minus ((a, b): complex) ((c, d): complex): complex = (a - c, b - d)
def times ((a, b): complex) ((c, d): complex): complex = (a * c - b * d, a * d + b * c)

def unit (angle: f32): complex = (f32.cos angle, f32.sin angle)

entry main [n] (re: [n]f32) (im: [n]f32): ([n]f32, [n]f32) =
  let half = n / 2
  let rounds = 63 - i64.i32 (i64.clz n)
  let (re, im, _) =
    loop (re, im, size) = (re, im, 1) for _round < rounds do
      let butterfly j =
        let k = j % size
        let turned = times (unit (-f32.pi * f32.i64 k / f32.i64 size)) (re[j + half], im[j + half])
        let place = j / size * 2 * size + k
        let (a, b) = plus (re[j], im[j]) turned
        let (c, d) = minus (re[j], im[j]) turned
        in (place, a, b, c, d)
      let (places, as, bs, cs, ds) = unzip5 (map butterfly (iota half))
      let behind = map (+ size) places
      in (scatter (scatter (replicate n 0) places as) behind cs,
          scatter (scatter (replicate n 0) places bs) behind ds,
          2 * size)
  in (re, im)
