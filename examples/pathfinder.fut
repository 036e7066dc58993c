-- The cheapest way down a grid: each step goes to one of the three cells below.
--
-- What to look at: one stencil per row in a sequential loop over the rows, and the same for a
-- batch of grids at once: then the batch is parallelism, too.
-- ==
-- input { [[[1, 9, 9], [9, 1, 9], [9, 9, 1]]] }
-- output { [[11, 11, 3]] }
-- random input { [2][5][33]i32 }
-- auto output
-- "one" notest random input { [1][100][100000]i32 }
-- "many" notest random input { [256][100][256]i32 }

def step [n] (costs: [n]i32) (row: [n]i32): [n]i32 =
  map2 (\j cost ->
          let left = costs[i64.max 0 (j - 1)]
          let right = costs[i64.min (n - 1) (j + 1)]
          in cost + i32.min costs[j] (i32.min left right))
       (iota n) row

def pathfinder [m][n] (grid: [m][n]i32): [n]i32 =
  loop costs = replicate n 0 for row in grid do step costs row

entry main [b][m][n] (grids: [b][m][n]i32): [b][n]i32 =
  map pathfinder grids
