-- Global alignment of two sequences (Needleman and Wunsch 1970): the table of the best scores of
-- all pairs of prefixes.
--
-- What to look at: cells on an anti-diagonal are independent, and so are blocks of cells; a
-- work-group computes a block by its own anti-diagonals, without leaving local memory.
-- ==
-- input { 1 [[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, -1, -1]] }
-- output { [[0, -1, -2, -3], [-1, 1, 0, -1], [-2, 0, 2, 1], [-3, -1, 1, 3], [-4, -2, 0, 2]] }
-- input { 10 [[6, 9, 8, 3, 9], [9, 9, -3, 2, 4], [-1, 1, 4, 7, 4]] }
-- output { [[0, -10, -20, -30, -40, -50], [-10, 6, -1, -11, -21, -31], [-20, -1, 15, 5, -5, -15],
--   [-30, -11, 5, 19, 12, 2]] }
-- random input { 10 [34][7]i32 }
-- auto output
-- "1024" notest random input { 10 [1024][1024]i32 }
-- "3072" notest random input { 10 [3072][3072]i32 }
-- "wide" notest random input { 10 [64][65536]i32 }

def block: i64 = 32

def clamp (low: i64) (high: i64) (x: i64): i64 = i64.max low (i64.min high x)

-- The scores of a block from those around it, diagonal by diagonal: row i is i steps late.
def align (similarity: [block][block]i32) (penalty: i32)
          (corner: i32) (above: [block]i32) (left: [block]i32): [block][block]i32 =
  let (diagonals, _, _) =
    loop (diagonals, last, before) =
        (replicate (2 * block - 1) (replicate block 0), left, copy left)
    for t < 2 * block - 1 do
      let next =
        tabulate block (\i ->
          let j = clamp 0 (block - 1) (t - i)
          let west = if j == 0 then left[i] else last[i]
          let north = if i == 0 then above[j] else last[i - 1]
          let north_west = if i == 0 then (if j == 0 then corner else above[j - 1])
                           else if j == 0 then left[i - 1] else before[i - 1]
          in i32.max (north_west + similarity[i, j]) (i32.max west north - penalty))
      in (diagonals with [t] = next, next, last)
  in tabulate_2d block block (\i j -> diagonals[i + j, i])

entry main [m][n] (penalty: i32) (similarity: [m][n]i32): [m + 1][n + 1]i32 =
  let rows = (m + block - 1) / block
  let columns = (n + block - 1) / block
  let steps = rows + columns
  let border i = -penalty * i32.i64 i
  -- Block (i, j) is tiles[i + j + 2, i], so that there are always two diagonals before.
  let tiles =
    loop tiles = replicate (steps + 2) (replicate rows (replicate block (replicate block 0)))
    for d < steps do
      let tile (i: i64) =
        let (y, x) = (block * i, block * (d - i))
        let corner = if i == 0 then border x
                     else if d == i then border y
                     else tiles[d, i - 1, block - 1, block - 1]
        let above = tabulate block (\k -> if i == 0 then border (x + k + 1)
                                          else tiles[d + 1, i - 1, block - 1, k])
        let left = tabulate block (\k -> if d == i then border (y + k + 1)
                                         else tiles[d + 1, i, k, block - 1])
        let here = tabulate_2d block block (\k l ->
                     similarity[clamp 0 (m - 1) (y + k), clamp 0 (n - 1) (x + l)])
        in align here penalty corner above left
      in tiles with [d + 2] = tabulate rows tile
  in tabulate_2d (m + 1) (n + 1) (\i j ->
       if i == 0 then border j
       else if j == 0 then border i
       else let (bi, bj) = ((i - 1) / block, (j - 1) / block)
            in tiles[bi + bj + 2, bi, (i - 1) % block, (j - 1) % block])
