-- LU decomposition by blocks, without pivoting.  The side need not be a multiple of the block:
-- the matrix is embedded in a larger one with an identity in the corner.
--
-- What to look at: every step works on a matrix one block smaller, so the thresholds inside the
-- loop meet a different parallelism each time (Breddam 2019, chapter 4).
-- ==
-- input { [[4f32, 3f32], [6f32, 3f32]] }
-- output { [[4f32, 3f32], [1.5f32, -1.5f32]] }
-- input { [[2f32, 1f32, 1f32], [4f32, 5f32, 3f32], [6f32, 6f32, 10f32]] }
-- output { [[2f32, 1f32, 1f32], [2f32, 3f32, 1f32], [3f32, 1f32, 6f32]] }
-- input { empty([0][0]f32) }
-- output { empty([0][0]f32) }

-- ==
-- entry: dominant
-- input { 16i64 }
-- auto output
-- input { 40i64 }
-- auto output
-- "32" notest input { 32i64 }
-- "128" notest input { 128i64 }
-- "256" notest input { 256i64 }

def block: i64 = 32

def dot [n] (xs: [n]f32) (ys: [n]f32): f32 = reduce (+) 0 (map2 (*) xs ys)

-- The diagonal block as L and U in one matrix: column i of L, then what it leaves of the rest.
def diagonal [b] (tile: *[b][b]f32): *[b][b]f32 =
  loop tile for i < b do
    let tile[:, i] = map (\j -> if j > i then tile[j, i] / tile[i, i] else tile[j, i]) (iota b)
    in tabulate_2d b b (\j k -> if j > i && k > i then tile[j, k] - tile[j, i] * tile[i, k]
                                else tile[j, k])

-- A block of the top row becomes U: one column at a time, by forward substitution.
def upper [b] (diag: [b][b]f32) (tile: [b][b]f32): [b][b]f32 =
  transpose
    (map (\column ->
            loop xs = copy column for i < b do
              let s = loop s = 0 for k < i do s + diag[i, k] * xs[k]
              in xs with [i] = xs[i] - s)
         (transpose tile))

-- A block of the left column becomes L: one row at a time.
def lower [b] (diag: [b][b]f32) (tile: [b][b]f32): [b][b]f32 =
  map (\row ->
         loop xs = copy row for j < b do
           let s = loop s = 0 for k < j do s + xs[k] * diag[k, j]
           in xs with [j] = (xs[j] - s) / diag[j, j])
      tile

def blocked [m] (a: [m][m][block][block]f32): [m][m][block][block]f32 =
  loop a = copy a for step < m do
    let rest = m - step - 1
    let diag = diagonal (copy a[step, step])
    let top = map (upper diag) (a[step, step + 1:] :> [rest][block][block]f32)
    let left = map (lower diag) (a[step + 1:, step] :> [rest][block][block]f32)
    let inner =
      map2 (\l tiles ->
              map2 (\u tile ->
                      map2 (\lrow trow -> map2 (\ucol t -> t - dot lrow ucol) (transpose u) trow)
                           l tile)
                   top tiles)
           left
           (a[step + 1:, step + 1:] :> [rest][rest][block][block]f32)
    let a[step, step] = diag
    let a[step, step + 1:] = top
    let a[step + 1:, step] = left
    let a[step + 1:, step + 1:] = inner
    in a

def lud [n] (a: [n][n]f32): [n][n]f32 =
  let m = (n + block - 1) / block
  let element i j = if i < n && j < n then a[i, j] else f32.bool (i == j)
  let tiles = tabulate_2d m m (\bi bj ->
                tabulate_2d block block (\i j -> element (bi * block + i) (bj * block + j)))
  let done = blocked tiles
  in tabulate_2d n n (\i j -> done[i / block, j / block, i % block, j % block])

entry main [n] (a: [n][n]f32): [n][n]f32 = lud a

-- A matrix that needs no pivoting, so that any size can be timed without a data file.
entry matrix (n: i64): [n][n]f32 =
  tabulate_2d n n (\i j -> if i == j then f32.i64 n else f32.i64 ((i * 7 + j * 13) % 10) / 10)

entry dominant (n: i64): [n][n]f32 = lud (matrix n)
