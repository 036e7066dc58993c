-- The Mandelbrot set: how many steps each point of a grid takes to escape.
--
-- What to look at: a while loop in a map stays inside the work-item; there is one version.
-- ==
-- input { 4i64 3i64 20 -2f32 -1f32 1f32 1f32 }
-- auto output
-- input { 0i64 3i64 20 -2f32 -1f32 1f32 1f32 }
-- auto output
-- "small" notest input { 256i64 256i64 255 -2f32 -1f32 1f32 1f32 }
-- "large" notest input { 2048i64 2048i64 255 -2f32 -1f32 1f32 1f32 }

type complex = (f32, f32)

def square ((re, im): complex): complex = (re * re - im * im, 2 * re * im)
def plus ((a, b): complex) ((c, d): complex): complex = (a + c, b + d)
def norm2 ((re, im): complex): f32 = re * re + im * im

def escape (limit: i32) (c: complex): i32 =
  (loop (z, i) = (c, 0) while i < limit && norm2 z < 4 do (plus (square z) c, i + 1)).1

entry main (width: i64) (height: i64) (limit: i32)
           (left: f32) (top: f32) (right: f32) (bottom: f32): [height][width]i32 =
  tabulate_2d height width (\row column ->
    let re = left + f32.i64 column * (right - left) / f32.i64 width
    let im = top + f32.i64 row * (bottom - top) / f32.i64 height
    in escape limit (re, im))
