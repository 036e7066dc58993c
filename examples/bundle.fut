-- Bundle adjustment: errors of projected points, and their Jacobian.
--
-- What to look at: each observation has a small gradient of its own, by one camera and one point.
-- `vjp` is inside of the map, so nothing is added across observations, and all stays in registers.
-- A camera has an axis times an angle, a centre, a focal length, the middle of the image, and two
-- coefficients of radial distortion.
-- ==
-- random input { [3][11]f64 [5][3]f64 [7]f64 [7]i64 [7]i64 [7][2]f64 }
-- auto output
-- "small" notest random input { [50][11]f64 [8000][3]f64 [32000]f64 [32000]i64 [32000]i64 [32000][2]f64 }
-- "large" notest random input { [500][11]f64 [80000][3]f64 [500000]f64 [500000]i64 [500000]i64 [500000][2]f64 }

def dot3 (a: [3]f64) (b: [3]f64): f64 = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]

def cross (a: [3]f64) (b: [3]f64): [3]f64 =
  [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]

def rotate_by (turn: [3]f64) (x: [3]f64): [3]f64 =
  let square = dot3 turn turn
  in if square == 0
     then map2 (+) x (cross turn x)
     else let angle = f64.sqrt square
          let axis = map (/ angle) turn
          let (sine, cosine) = (f64.sin angle, f64.cos angle)
          let along = dot3 axis x * (1 - cosine)
          in map3 (\x across axis -> x * cosine + across * sine + axis * along)
                  x (cross axis x) axis

def errors (seen: [2]f64) (camera: [11]f64, point: [3]f64, weight: f64): [2]f64 =
  let turned = rotate_by (take 3 camera) (map2 (-) point (camera[3:6] :> [3]f64))
  let (x, y) = (turned[0] / turned[2], turned[1] / turned[2])
  let square = x * x + y * y
  let distortion = camera[6] * (1 + camera[9] * square + camera[10] * square * square)
  in [weight * (distortion * x + camera[7] - seen[0]),
      weight * (distortion * y + camera[8] - seen[1])]

def observations 'a [n][k][m] (f: [2]f64 -> ([11]f64, [3]f64, f64) -> a)
                              (cameras: [k][11]f64) (points: [m][3]f64) (weights: [n]f64)
                              (which_camera: [n]i64) (which_point: [n]i64) (seen: [n][2]f64): [n]a =
  map4 (\camera point weight seen -> f seen (cameras[camera % k], points[point % m], weight))
       which_camera which_point weights seen

entry residuals [n][k][m] (cameras: [k][11]f64) (points: [m][3]f64) (weights: [n]f64)
                          (which_camera: [n]i64) (which_point: [n]i64) (seen: [n][2]f64)
                        : [n][2]f64 =
  observations errors cameras points weights which_camera which_point seen

entry main [n][k][m] (cameras: [k][11]f64) (points: [m][3]f64) (weights: [n]f64)
                     (which_camera: [n]i64) (which_point: [n]i64) (seen: [n][2]f64)
                   : ([n][2]f64, [n][2][11]f64, [n][2][3]f64, [n][2]f64) =
  let jacobian seen at =
    let rows = map (vjp (errors seen) at) [[1, 0], [0, 1]]
    in (errors seen at, unzip3 rows)
  let (values, rows) =
    unzip (observations jacobian cameras points weights which_camera which_point seen)
  let (by_camera, by_point, by_weight) = unzip3 rows
  in (values, by_camera, by_point, by_weight)
