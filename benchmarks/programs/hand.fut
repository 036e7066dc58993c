-- A hand that is fitted to points: residuals, and their Jacobian by 26 directions forward.
--
-- 26 numbers pose the hand: three of its rotation, three of its place, and four angles of each
-- finger.  A palm and four bones of each finger move the vertices, each by its weights.

def product (a: [3][3]f64) (b: [3][3]f64): [3][3]f64 =
  map (\row -> map (\column -> f64.sum (map2 (*) row column)) (transpose b)) a

def apply (a: [3][3]f64) (x: [3]f64): [3]f64 = map (\row -> f64.sum (map2 (*) row x)) a

def plus (a: [3]f64) (b: [3]f64): [3]f64 = map2 (+) a b

def turn (x: f64) (y: f64) (z: f64): [3][3]f64 =
  let (a, b, c) = (f64.cos x, f64.cos y, f64.cos z)
  let (p, q, r) = (f64.sin x, f64.sin y, f64.sin z)
  in [[b * c, p * q * c - a * r, a * q * c + p * r],
      [b * r, p * q * r + a * c, a * q * r - p * c],
      [-q, p * b, a * b]]

-- The rotations and places of the palm and of all bones; `offsets` lead from a bone to the next.
def bones (pose: [26]f64) (offsets: [5][4][3]f64): ([21][3][3]f64, [21][3]f64) =
  let palm = turn pose[0] pose[1] pose[2]
  let place = [pose[3], pose[4], pose[5]]
  let finger (f: i64): ([4][3][3]f64, [4][3]f64) =
    let angle i = pose[6 + 4 * f + i]
    let (_, _, turns, places) =
      loop (at, origin, turns, places) =
          (copy palm, copy place, replicate 4 (replicate 3 (replicate 3 0)),
           replicate 4 (replicate 3 0))
      for b < 4 do
        let next = plus origin (apply at offsets[f, b])
        let bend = if b == 0 then turn (angle 0) 0 (angle 1)
                   else if b < 3 then turn (angle (b + 1)) 0 0 else turn 0 0 0
        let turned = product at bend
        in (turned, next, turns with [b] = copy turned, places with [b] = copy next)
    in (turns, places)
  let (turns, places) = unzip (map finger (iota 5))
  in ([palm] ++ flatten turns :> [21][3][3]f64, [place] ++ flatten places :> [21][3]f64)

def distances [v][p] (offsets: [5][4][3]f64) (rest: [v][21][3]f64) (weights: [v][21]f64)
                     (vertices: [p]i64) (points: [p][3]f64) (pose: [26]f64): [p][3]f64 =
  let (turns, places) = bones pose offsets
  let moved =
    map2 (\positions shares ->
            let all = map4 (\turn place at share -> map (* share) (plus place (apply turn at)))
                           turns places positions shares
            in map f64.sum (transpose all))
         rest weights
  in map2 (\vertex point -> map2 (-) point moved[vertex]) vertices points

entry residuals [v][p] (offsets: [5][4][3]f64) (rest: [v][21][3]f64) (weights: [v][21]f64)
                       (vertices: [p]i64) (points: [p][3]f64) (pose: [26]f64): [p][3]f64 =
  distances offsets rest weights vertices points pose

entry jacobian [v][p] (offsets: [5][4][3]f64) (rest: [v][21][3]f64) (weights: [v][21]f64)
                      (vertices: [p]i64) (points: [p][3]f64) (pose: [26]f64): [26][p][3]f64 =
  tabulate 26 (\i -> jvp (distances offsets rest weights vertices points) pose
                         (tabulate 26 (\j -> f64.bool (i == j))))
