-- Quickhull: the corners of the convex hull of points, from the leftmost one on.
--
-- What to look at: each edge of the hull has the points outside of it, few or many.  The farthest of
-- them is a corner; it replaces the edge by two, and points inside of the triangle are dropped.
-- ==
-- entry: by_hand
-- input { [0f64, 4f64, 1f64, 2f64, 4f64, 0f64] [0f64, 0f64, 1f64, 5f64, 3f64, 3f64] }
-- output { [0i64, 5i64, 3i64, 4i64, 1i64] }
-- input { [2f64] [3f64] } output { [0i64] }
-- random input { [100]f64 [100]f64 } auto output
-- "square" notest random input { [1000000]f64 [1000000]f64 }
-- "circle" notest script input { circle 300000 }

import "lib/segments"

-- Points on a circle, which are all corners.
def circle (n: i64): ([n]f64, [n]f64) =
  unzip (tabulate n (\i -> let a = 2 * f64.pi * f64.i64 i / f64.i64 n in (f64.cos a, f64.sin a)))

def farther (a: f64, i: i64) (b: f64, j: i64) = if b > a then (b, j) else (a, i)

-- The smallest x, of equal ones with the smallest y.
def lower (x: f64, y: f64, i: i64) (u, v, j) =
  if u < x || u == x && v < y then (u, v, j) else (x, y, i)

entry by_hand [n] (xs: [n]f64) (ys: [n]f64): []i64 =
  let (_, _, first) = reduce lower (f64.inf, f64.inf, -1) (zip3 xs ys (iota n))
  let (_, _, last) =
    reduce lower (f64.inf, f64.inf, -1) (zip3 (map f64.neg xs) (map f64.neg ys) (iota n))
  -- how far a point is outside of the edge from a to b, times the length of the edge
  let distance (a: i64, b: i64) (p: i64) =
    (xs[b] - xs[a]) * (ys[p] - ys[a]) - (ys[b] - ys[a]) * (xs[p] - xs[a])
  -- the points of slices, each for an edge, that are outside of it; and how many each edge has
  let outside [k] (edges: [k](i64, i64)) (start: [k]i64) (len: [k]i64) (points: []i64) =
    let (owners, kept) = unzip (filter (\(e, p) -> distance edges[e] p > 0)
                                       (map (\(e, j) -> (e, points[start[e] + j])) (expand len)))
    in (edges, reduce_by_index (replicate k 0) (+) 0 owners (map (const 1) owners), kept)
  let (edges, _, _) =
    loop (edges, len, points) = outside [(first, last), (last, first)] [0, 0] [n, n] (iota n)
    while any (> 0) len do
      let [q] (owners: [q]i64, places: [q]i64) = unzip (expand len)
      let tips = segmented_reduce farther (0, -1) len places
                                  (map2 (\e p -> (distance edges[e] p, p)) owners (sized q points))
      let halves = expand (map (\l -> if l > 0 then 2 else 1) len)
      let new = map (\(e, half) ->
                  let ((a, b), (_, tip)) = (edges[e], tips[e])
                  in if len[e] == 0
                     then (a, b)
                     else if half == 0 then (a, tip) else (tip, b)) halves
      let start = offsets len
      in outside new (map (\(e, _) -> start[e]) halves) (map (\(e, _) -> len[e]) halves) points
  in if n == 0 then [] else if first == last then [first] else map (.0) edges

-- The corners from a on, up to b, among points outside of the edge; both new edges are one call.
def corners [n][k] (xs: [n]f64) (ys: [n]f64) (a: i64, b: i64) (points: [k]i64): []i64 =
  let distance (a: i64, b: i64) (p: i64) =
    (xs[b] - xs[a]) * (ys[p] - ys[a]) - (ys[b] - ys[a]) * (xs[p] - xs[a])
  let outside = filter (\p -> distance (a, b) p > 0) points
  in if length outside == 0 then [a] else
       let (_, tip) = reduce farther (0, -1) (map (\p -> (distance (a, b) p, p)) outside)
       let (_, _, _, both) =
         flatmap' (\half -> let edge = if half == 0 then (a, tip) else (tip, b)
                            in corners xs ys edge outside) [0i64, 1]
       in both

-- ==
-- entry: main
-- input { [0f64, 4f64, 1f64, 2f64, 4f64, 0f64] [0f64, 0f64, 1f64, 5f64, 3f64, 3f64] }
-- output { [0i64, 5i64, 3i64, 4i64, 1i64] }
-- input { [2f64] [3f64] } output { [0i64] }
-- random input { [100]f64 [100]f64 } auto output
entry main [n] (xs: [n]f64) (ys: [n]f64): []i64 =
  let (_, _, first) = reduce lower (f64.inf, f64.inf, -1) (zip3 xs ys (iota n))
  let (_, _, last) =
    reduce lower (f64.inf, f64.inf, -1) (zip3 (map f64.neg xs) (map f64.neg ys) (iota n))
  in if n == 0 then [] else if first == last then [first] else
       corners xs ys (first, last) (iota n) ++ corners xs ys (last, first) (iota n)
