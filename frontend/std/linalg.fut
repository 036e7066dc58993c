-- Linear algebra of dense matrices, which are arrays of rows.

-- | The product of matrices with any addition, its zero, and any multiplication.
--
-- >>> matmul_by (+) 0 (*) [[1, 2], [3, 4]] [[5], [6]]
-- [[17], [39]]
def matmul_by 'a 'b 'c [n] [m] [k] (plus: c -> c -> c) (zero: c) (times: a -> b -> c)
    (as: [n][m]a) (bs: [m][k]b): [n][k]c =
  map (\row -> map (\column -> reduce plus zero (map2 times row column)) (transpose bs)) as

-- | The elements [i, i] of a square matrix.
--
-- >>> diagonal [[1, 2], [3, 4]]
-- [1, 4]
def diagonal 'a [n] (as: [n][n]a): [n]a = tabulate n (\i -> as[i, i])

-- Linear algebra of numbers of a type R.t.
module mk_linalg (R: real) = {
  local def zero: R.t = R.i64 0
  local def one: R.t = R.i64 1

  -- | The inner product of vectors.
  --
  -- >>> linalg_f32.dot [1, 2] [3, 4]
  -- 11f32
  def dot [n] (xs: [n]R.t) (ys: [n]R.t): R.t = R.sum (map2 (R.*) xs ys)

  -- | The product of matrices.
  --
  -- >>> linalg_f32.matmul [[1, 2], [3, 4]] [[5], [6]]
  -- [[17f32], [39]]
  def matmul [n] [m] [k] (as: [n][m]R.t) (bs: [m][k]R.t): [n][k]R.t =
    map (\row -> map (dot row) (transpose bs)) as

  -- | The product of a matrix and a vector.
  --
  -- >>> linalg_f32.matvec [[1, 2], [3, 4]] [5, 6]
  -- [17f32, 39]
  def matvec [n] [m] (as: [n][m]R.t) (xs: [m]R.t): [n]R.t = map (\row -> dot row xs) as

  -- | The products of each element of a vector with each of another.
  --
  -- >>> linalg_f32.outer [1, 2] [3, 4]
  -- [[3f32, 4], [6, 8]]
  def outer [n] [m] (xs: [n]R.t) (ys: [m]R.t): [n][m]R.t = map (\x -> map (x R.*) ys) xs

  -- | The Kronecker product: each element of a matrix times another matrix.
  --
  -- >>> linalg_f32.kron [[1, 2]] [[3], [4]]
  -- [[3f32, 6], [4, 8]]
  def kron [n] [m] [k] [l] (as: [n][m]R.t) (bs: [k][l]R.t): [n * k][m * l]R.t =
    tabulate_2d (n * k) (m * l) (\i j -> as[i / k, j / l] R.* bs[i % k, j % l])

  -- | The square matrix with ones on its diagonal, and zeros elsewhere.
  --
  -- >>> linalg_f32.identity 2
  -- [[1f32, 0], [0, 1]]
  def identity (n: i64): [n][n]R.t = tabulate_2d n n (\i j -> if i == j then one else zero)

  -- | The sum of the diagonal.
  --
  -- >>> linalg_f32.trace [[1, 2], [3, 4]]
  -- 5f32
  def trace [n] (as: [n][n]R.t): R.t = R.sum (diagonal as)

  -- | The length of a vector, the root of its squares' sum.
  --
  -- >>> linalg_f32.norm [3, 4]
  -- 5f32
  def norm [n] (xs: [n]R.t): R.t = R.sqrt (dot xs xs)

  -- | The sum of absolute values of a vector.
  --
  -- >>> linalg_f32.norm_1 [3, -4]
  -- 7f32
  def norm_1 [n] (xs: [n]R.t): R.t = R.sum (map R.abs xs)

  -- | The greatest absolute value of a vector; 0 of none.
  --
  -- >>> linalg_f32.norm_max [3, -4]
  -- 4f32
  def norm_max [n] (xs: [n]R.t): R.t = reduce R.max zero (map R.abs xs)

  -- | The root of the sum of the squares of a matrix.
  --
  -- >>> linalg_f32.frobenius [[1, 1], [1, 1]]
  -- 2f32
  def frobenius [n] [m] (as: [n][m]R.t): R.t = norm (flatten as)

  -- | The vector of length 1 in the direction of a vector.
  --
  -- >>> linalg_f32.normalized [3, 4]
  -- [0.6f32, 0.8]
  def normalized [n] (xs: [n]R.t): [n]R.t = let length = norm xs in map (R./ length) xs

  -- The row, k or below, whose element in column k has the greatest absolute value.
  local def pivot_row [n] [m] (k: i64) (as: [n][m]R.t): i64 =
    let size i = if i < k then R.neg one else R.abs as[i, k]
    let (_, best) =
      reduce_comm (\(x, i) (y, j) -> if x R.> y || (x R.== y && i < j) then (x, i) else (y, j))
                  (R.neg one, n - 1)
                  (map (\i -> (size i, i)) (iota n))
    in best

  -- Rows k and p swapped, row k divided by its element in column k, and the column cleared in rows
  -- from `first` on.
  local def cleared [n] [m] (k: i64) (p: i64) (first: i64) (as: [n][m]R.t): [n][m]R.t =
    let pivot = copy as[p]
    let other = copy as[k]
    in tabulate_2d n m (\i j ->
         let scaled = pivot[j] R./ pivot[k]
         in if i == k then scaled
            else if i < first then as[i, j]
            else if i == p then other[j] R.- other[k] R.* scaled
            else as[i, j] R.- as[i, k] R.* scaled)

  -- A matrix with further columns behind it, by elimination: the latter are multiplied by its inverse.
  local def eliminated [n] [m] (as: [n][m]R.t): [n][m]R.t =
    loop as for k < n do cleared k (pivot_row k as) 0 as

  -- | The matrix X of A X = B, by elimination with pivots; no numbers if A is singular.
  --
  -- >>> linalg_f32.solve_matrix [[2, 0], [0, 4]] [[2, 4], [4, 8]]
  -- [[1f32, 2], [1, 2]]
  def solve_matrix [n] [m] (as: [n][n]R.t) (bs: [n][m]R.t): [n][m]R.t =
    let both = eliminated (map2 concat as bs)
    in map (\row -> drop n row :> [m]R.t) both

  -- | The vector x of A x = b, by elimination with pivots; no numbers if A is singular.
  --
  -- >>> linalg_f32.solve [[2, 1], [1, 3]] [3, 5]
  -- [0.8f32, 1.4]
  def solve [n] (as: [n][n]R.t) (b: [n]R.t): [n]R.t =
    flatten (solve_matrix as (map (\x -> [x]) b)) :> [n]R.t

  -- | The inverse of a matrix; no numbers if it is singular.
  --
  -- >>> linalg_f32.inverse [[2, 0], [0, 4]]
  -- [[0.5f32, 0], [0, 0.25]]
  def inverse [n] (as: [n][n]R.t): [n][n]R.t = solve_matrix as (identity n)

  -- | The determinant of a matrix.
  --
  -- >>> linalg_f32.determinant [[1, 2], [3, 4]]
  -- -2f32
  def determinant [n] (as: [n][n]R.t): R.t =
    let (_, found, _) =
      loop (as, found, k) = (as, one, 0) while k < n && found R.!= zero do
        let p = pivot_row k as
        let factor = if p == k then as[p, k] else R.neg as[p, k]
        in (if factor R.== zero then as else cleared k p k as, found R.* factor, k + 1)
    in found

  -- | The lower triangle L of a symmetric positive definite matrix L L^T (Cholesky).
  --
  -- >>> linalg_f32.cholesky [[4, 2], [2, 5]]
  -- [[2f32, 0], [1, 2]]
  def cholesky [n] (as: [n][n]R.t): [n][n]R.t =
    let found =
      loop as = copy as for k < n do
        let root = R.sqrt as[k, k]
        let column = tabulate n (\i -> if i < k then zero else as[i, k] R./ root)
        in tabulate_2d n n (\i j ->
             if j < k then as[i, j]
             else if j == k then column[i]
             else as[i, j] R.- column[i] R.* column[j])
    in tabulate_2d n n (\i j -> if j <= i then found[i, j] else zero)

  -- | Q with orthogonal columns of length 1, and the upper triangle R, of a matrix Q R.
  --
  -- >>> linalg_f32.qr [[3, 1], [4, 2]]
  -- ([[0.6f32, -0.8], [0.8, 0.6]], [[5f32, 2.2], [0, 0.4]])
  def qr [n] [m] (as: [n][m]R.t): ([n][m]R.t, [m][m]R.t) =
    let (columns, r) =
      loop (columns, r) = (transpose as, replicate m (replicate m zero)) for k < m do
        let length = norm columns[k]
        let unit = map (R./ length) columns[k]
        let parts = tabulate m (\j -> if j < k then zero else if j == k then length
                                      else dot unit columns[j])
        let columns = tabulate_2d m n (\j i ->
                        if j < k then columns[j, i]
                        else if j == k then unit[i]
                        else columns[j, i] R.- parts[j] R.* unit[i])
        in (columns, r with [k] = parts)
    in (transpose columns, r)

  -- | The x for which A x is nearest to b; A has at least as many rows as columns, and full rank.
  --
  -- >>> linalg_f32.least_squares [[1, 0], [1, 1], [1, 2]] [1, 2, 3]
  -- [1f32, 1]
  def least_squares [n] [m] (as: [n][m]R.t) (b: [n]R.t): [m]R.t =
    let (q, r) = qr as
    in solve r (matvec (transpose q) b)
}

module linalg_f32 = mk_linalg f32
module linalg_f64 = mk_linalg f64
