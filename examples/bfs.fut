-- Breadth-first search: the distance of each vertex of a graph from a vertex, -1 if there is none.
--
-- What to look at: a vertex has as many neighbours as it likes.  In the nested program, each vertex
-- without a distance looks for a neighbour that has one.  By hand, the vertices that were reached
-- last are expanded to their neighbours, and one of several equal neighbours is kept.
-- ==
-- entry: main by_hand
-- input { [0i64, 2i64, 4i64, 6i64] [2i64, 2i64, 2i64, 0i64] [1i64, 2i64, 0i64, 2i64, 0i64, 1i64] 0i64 }
-- output { [0i64, 1i64, 1i64, -1i64] }
-- input { [0i64] [0i64] empty([0]i64) 0i64 }
-- output { [0i64] }
-- script input { graph ($ragged "20 power 30") }
-- auto output
-- "even" notest script input { graph ($ragged "100000 equal 16") }
-- "skewed" notest script input { graph ($ragged "100000 power 10000") }

import "lib/segments"

-- A tree whose vertices have `len` children, and an edge between each vertex and its mirror image.
def graph [r] (len: [r]i64): ?[n].([n]i64, [n]i64, []i64, i64) =
  let parents = owners len
  let m = length parents
  let n = i64.max r (m + 1)
  let children = map (\i -> if i < r then len[i] else 0) (iota n)
  let first = map (+ 1) (offsets children)
  let degree = map (+ 2) children
  let neighbour (i, j) = if j == 0 then if 0 < i && i <= m then parents[i - 1] else i
                         else if j == 1 then n - 1 - i else first[i] + j - 2
  in (offsets degree, degree, map neighbour (expand degree), 0)

-- The neighbours of vertices, and a vertex; each edge has both directions.
entry main [r][k] (start: [r]i64) (len: [r]i64) (near: [k]i64) (s: i64): [r]i64 =
  (loop (depth, d, more) = (replicate r (-1) with [s] = 0, 1, true) while more do
     let next = map3 (\old o l -> if old < 0 && any (\u -> depth[u] >= 0) near[o:o + l]
                                  then d else old) depth start len
     in (next, d + 1, or (map2 (!=) depth next))).0

entry by_hand [r][k] (start: [r]i64) (len: [r]i64) (near: [k]i64) (s: i64): [r]i64 =
  (loop (depth, front, d) = (replicate r (-1) with [s] = 0, [s], 1) while length front > 0 do
     let edges = expand (map (\u -> len[u]) front)
     let found = filter (\v -> depth[v] < 0) (map (\(i, j) -> near[start[front[i]] + j]) edges)
     let last = reduce_by_index (replicate r (-1)) i64.max (-1) found (indices found)
     let (next, _) = unzip (filter (\(v, i) -> last[v] == i) (zip found (indices found)))
     in (scatter depth next (map (const d) next), next, d + 1)).0
