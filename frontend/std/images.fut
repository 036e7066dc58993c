-- Images: arrays of rows of pixels.  Grey values are numbers between 0, black, and 1, white.

-- | The grey values of an image of red, green and blue bytes, as bright as eyes see them.
--
-- >>> grey [[[255u8, 255, 255], [0, 0, 0]]]
-- [[1f32, 0]]
def grey [h] [w] (image: [h][w][3]u8): [h][w]f32 =
  let value (c: [3]u8) =
    (0.299 * f32.u8 c[0] + 0.587 * f32.u8 c[1] + 0.114 * f32.u8 c[2]) / 255
  in map (map value) image

-- | The bytes of grey values; what is below 0 or above 1 becomes black or white.
--
-- >>> bytes [[0, 0.5, 2]]
-- [[0u8, 128, 255]]
def bytes [h] [w] (image: [h][w]f32): [h][w]u8 =
  map (map (\x -> u8.f32 (f32.max 0 (f32.min 1 x) * 255 + 0.5))) image

-- | The image with left and right exchanged.
--
-- >>> flip_horizontal [[1, 2], [3, 4]]
-- [[2, 1], [4, 3]]
def flip_horizontal 'a [h] [w] (image: [h][w]a): [h][w]a = map reverse image

-- | The image with top and bottom exchanged.
--
-- >>> flip_vertical [[1, 2], [3, 4]]
-- [[3, 4], [1, 2]]
def flip_vertical 'a [h] [w] (image: [h][w]a): [h][w]a = reverse image

-- | The image turned to the left, by a quarter.
--
-- >>> rotate_left [[1, 2], [3, 4]]
-- [[2, 4], [1, 3]]
def rotate_left 'a [h] [w] (image: [h][w]a): [w][h]a = reverse (transpose image)

-- | The image turned to the right, by a quarter.
--
-- >>> rotate_right [[1, 2], [3, 4]]
-- [[3, 1], [4, 2]]
def rotate_right 'a [h] [w] (image: [h][w]a): [w][h]a = map reverse (transpose image)

-- | A part with h rows and w columns, whose first pixel is at row y, column x.
--
-- >>> crop 1 0 1 2 [[1, 2], [3, 4]]
-- [[3, 4]]
def crop 'a [n] [m] (y: i64) (x: i64) (h: i64) (w: i64) (image: [n][m]a): [h][w]a =
  tabulate_2d h w (\i j -> image[y + i, x + j])

-- | The image with h rows and w columns, each pixel the nearest one there.
--
-- >>> resize_nearest 1 4 [[1, 2]]
-- [[1, 1, 2, 2]]
def resize_nearest 'a [n] [m] (h: i64) (w: i64) (image: [n][m]a): [h][w]a =
  tabulate_2d h w (\i j -> image[(2 * i + 1) * n / (2 * h), (2 * j + 1) * m / (2 * w)])

-- The pixel at a place, or the nearest one at the border.
local def at [n] [m] (image: [n][m]f32) (i: i64) (j: i64): f32 =
  image[i64.max 0 (i64.min (n - 1) i), i64.max 0 (i64.min (m - 1) j)]

-- | The image with h rows and w columns, linear between the middles of pixels.
--
-- >>> resize 1 4 [[0, 1]]
-- [[0f32, 0.25, 0.75, 1]]
def resize [n] [m] (h: i64) (w: i64) (image: [n][m]f32): [h][w]f32 =
  let place (i: i64) (old: i64) (new: i64) =
    let x = (f32.i64 i + 0.5) * f32.i64 old / f32.i64 new - 0.5
    let below = f32.floor x
    in (i64.f32 below, x - below)
  in tabulate_2d h w (\k l ->
       let (i, y) = place k n h
       let (j, x) = place l m w
       let row i = (1 - x) * at image i j + x * at image i (j + 1)
       in (1 - y) * row i + y * row (i + 1))

-- | Each pixel with its neighbours weighted by a filter; beyond the border, the nearest pixels count.
--
-- >>> filtered [[0.5, 0, 0.5]] [[0, 1, 0]]
-- [[0.5f32, 0, 0.5]]
def filtered [n] [m] [k] [l] (filter: [k][l]f32) (image: [n][m]f32): [n][m]f32 =
  tabulate_2d n m (\i j ->
    f32.sum (tabulate k (\p ->
      f32.sum (tabulate l (\q -> filter[p, q] * at image (i + p - k / 2) (j + q - l / 2))))))

-- | Each pixel the mean of the square of 2 r + 1 pixels around it.
--
-- >>> blur 1 [[0, 3, 0]]
-- [[1f32, 1, 1]]
def blur [n] [m] (r: i64) (image: [n][m]f32): [n][m]f32 =
  let weights = replicate (2 * r + 1) (1 / f32.i64 (2 * r + 1))
  in filtered (map (\x -> [x]) weights) (filtered [weights] image)

-- | Each pixel with those around it weighted by a bell curve of the given width, sigma.
--
-- >>> gaussian_blur 1 [[1, 1]]
-- [[1f32, 1]]
def gaussian_blur [n] [m] (sigma: f32) (image: [n][m]f32): [n][m]f32 =
  let r = i64.f32 (f32.ceil (3 * sigma))
  let bell = tabulate (2 * r + 1) (\i ->
               let x = f32.i64 (i - r) / sigma in f32.exp (-0.5 * x * x))
  let total = f32.sum bell
  let weights = map (/ total) bell
  in filtered (map (\x -> [x]) weights) (filtered [weights] image)

-- | How steep the grey values are at each pixel (Sobel).
--
-- >>> edges [[1, 1], [1, 1]]
-- [[0f32, 0], [0, 0]]
def edges [n] [m] (image: [n][m]f32): [n][m]f32 =
  let across = filtered [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]] image
  let down = filtered [[-1, -2, -1], [0, 0, 0], [1, 2, 1]] image
  in map2 (map2 f32.hypot) across down

-- | Each pixel the greatest of the square of 2 r + 1 pixels around it.
--
-- >>> dilate 1 [[0, 0, 1]]
-- [[0f32, 1, 1]]
def dilate [n] [m] (r: i64) (image: [n][m]f32): [n][m]f32 =
  let size = 2 * r + 1
  let wide = tabulate_2d n m (\i j -> f32.maximum (tabulate size (\q -> at image i (j + q - r))))
  in tabulate_2d n m (\i j -> f32.maximum (tabulate size (\p -> at wide (i + p - r) j)))

-- | Each pixel the least of the square of 2 r + 1 pixels around it.
--
-- >>> erode 1 [[1, 1, 0]]
-- [[1f32, 0, 0]]
def erode [n] [m] (r: i64) (image: [n][m]f32): [n][m]f32 =
  map (map f32.neg) (dilate r (map (map f32.neg) image))

-- | The sums of all pixels above and to the left, with those at the place itself.
--
-- >>> integral [[1, 2], [3, 4]]
-- [[1f32, 3], [4, 10]]
def integral [n] [m] (image: [n][m]f32): [n][m]f32 =
  transpose (map (scan (+) 0) (transpose (map (scan (+) 0) image)))

-- | How many bytes have each of the 256 values.
--
-- >>> (byte_histogram [[0, 2, 2]])[:3]
-- [1i64, 0, 2]
def byte_histogram [n] [m] (image: [n][m]u8): [256]i64 =
  hist (+) 0 256 (map i64.u8 (flatten image)) (replicate (n * m) 1)

-- | Bytes stretched so that all values occur about equally often.
--
-- >>> equalized [[3, 3, 7, 9]]
-- [[0u8, 0, 128, 255]]
def equalized [n] [m] (image: [n][m]u8): [n][m]u8 =
  let below = scan (+) 0 (byte_histogram image)
  let least = i64.minimum (map (\x -> if x == 0 then n * m else x) below)
  let value x =
    f64.i64 (below[i64.u8 x] - least) / f64.i64 (i64.max 1 (n * m - least)) * 255
  in map (map (\x -> u8.f64 (value x + 0.5))) image
