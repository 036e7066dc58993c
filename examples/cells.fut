-- Forces between bodies that are near each other: those of a cell of a grid and of the cells around.
--
-- What to look at: bodies are stored cell by cell, so three neighbouring cells are a slice.  A body
-- sums over three slices, whose lengths depend on how crowded the cells are.
-- ==
-- entry: main by_hand
-- input { 2i64 [1i64, 0i64, 0i64, 2i64] [0.5f32, 1.5f32, 1.75f32] [0.5f32, 1.25f32, 1.75f32] }
-- auto output
-- input { 1i64 [0i64] empty([0]f32) empty([0]f32) }
-- output { empty([0]f32) empty([0]f32) }
-- script input { crowd 5 ($ragged "25 power 20") }
-- auto output
-- "even" notest script input { crowd 100 ($ragged "10000 equal 30") }
-- "crowded" notest script input { crowd 300 ($ragged "90000 power 3000") }

import "lib/segments"

-- Bodies in the cells of a square grid, as many as `counts` says.
def crowd (side: i64) (counts: []i64): (i64, [side * side]i64, []f32, []f32) =
  let (cells, _) = unzip (expand counts)
  let within cell k = f32.i64 cell + f32.i64 (k * 7919 % 1000) / 1000
  let xs = map2 (\c k -> within (c % side) k) cells (indices cells)
  let ys = map2 (\c k -> within (c / side) (3 * k)) cells (indices cells)
  in (side, counts :> [side * side]i64, xs, ys)

-- The force that the second body exerts on the first; none at a distance of 1 and more.
def force (x: f32, y: f32) (u: f32, v: f32): (f32, f32) =
  let (dx, dy) = (x - u, y - v)
  let r2 = dx * dx + dy * dy
  let f = if r2 < 1 then (1 - r2) * (1 - r2) else 0
  in (f * dx, f * dy)

def add (a: f32, b: f32) (c: f32, d: f32): (f32, f32) = (a + c, b + d)

-- The slice of bodies that are near a cell in one of the rows above, at, and below it.
def near [c] (side: i64) (counts: [c]i64) (start: [c]i64) (cell: i64) (k: i64): (i64, i64) =
  let row = cell / side + k - 1
  in if row < 0 || row >= side then (0, 0)
     else let first = row * side + i64.max 0 (cell % side - 1)
          let last = row * side + i64.min (side - 1) (cell % side + 1)
          in (start[first], start[last] + counts[last] - start[first])

entry main [n] (side: i64) (counts: [side * side]i64) (xs: [n]f32) (ys: [n]f32)
    : ([n]f32, [n]f32) =
  let start = offsets counts
  let bodies = zip xs ys
  let cells = sized n (owners counts)
  in unzip (map2 (\body cell ->
       loop total = (0, 0) for k < 3 do
         let (o, l) = near side counts start cell k
         in add total (reduce add (0, 0) (map (force body) bodies[o:o + l]))) bodies cells)

entry by_hand [n] (side: i64) (counts: [side * side]i64) (xs: [n]f32) (ys: [n]f32)
    : ([n]f32, [n]f32) =
  let start = offsets counts
  let slices = flatten (map (\cell -> map (near side counts start cell) (iota 3))
                            (sized n (owners counts)))
  let len = map (.1) slices
  let (rows, places) = unzip (expand len)
  let forces = map2 (\r j -> let (i, k) = (r / 3, slices[r].0 + j)
                             in force (xs[i], ys[i]) (xs[k], ys[k])) rows places
  let sums = segmented_reduce add (0, 0) len places forces
  in unzip (map (reduce add (0, 0)) (unflatten sums))
