-- Sparse matrices by rows (CSR), as the three arrays `indptr`, `indices` and `data` of SciPy: row i
-- has the columns `indices[indptr[i]:indptr[i + 1]]`, and the numbers of `data` at these places.

import "sort"
import "segmented"

-- | The row of each stored number.
--
-- >>> csr_rows [0, 2, 2, 3]
-- [0, 0, 2]
def csr_rows [r] (indptr: [r]i64): []i64 =
  rows (tabulate (i64.max 0 (r - 1)) (\i -> indptr[i + 1] - indptr[i]))

-- Sparse matrices of numbers of a type R.t.
module mk_sparse (R: numeric) = {
  local def zero: R.t = R.i64 0

  -- | The product with a vector.
  --
  -- >>> sparse_f32.matvec [0, 2, 3] [0, 1, 1] [1, 2, 3] [10, 100]
  -- [210f32, 300]
  def matvec [r] [k] [m] (indptr: [r]i64) (indices: [k]i64) (data: [k]R.t) (xs: [m]R.t)
      : [r - 1]R.t =
    tabulate (r - 1) (\i ->
      loop sum = zero for j in indptr[i]..<indptr[i + 1] do sum R.+ data[j] R.* xs[indices[j]])

  -- | The product with a dense matrix.
  --
  -- >>> sparse_f32.matmul [0, 2, 3] [0, 1, 1] [1, 2, 3] [[10], [100]]
  -- [[210f32], [300]]
  def matmul [r] [k] [m] [l] (indptr: [r]i64) (indices: [k]i64) (data: [k]R.t)
      (xss: [m][l]R.t): [r - 1][l]R.t =
    transpose (map (matvec indptr indices data) (transpose xss))

  -- | The arrays of the matrix with n rows and m columns that has numbers at the given places.
  --
  -- >>> sparse_f32.from_places 2 2 [1, 0] [0, 1] [3, 4]
  -- ([0i64, 1, 2], [1i64, 0], [4f32, 3])
  def from_places [k] (n: i64) (m: i64) (is: [k]i64) (js: [k]i64) (data: [k]R.t)
      : ([n + 1]i64, [k]i64, [k]R.t) =
    let bits = 64 - u64.clz (u64.i64 (n * m))
    let (_, indices, data) =
      unzip3 (radix_sort_by_key bits (\(i, j, _) -> u64.i64 (i * m + j)) (zip3 is js data))
    let ends = scan (+) 0 (hist (+) 0 n is (replicate k 1))
    in (tabulate (n + 1) (\i -> if i == 0 then 0 else ends[i - 1]), indices, data)

  -- | The arrays of a dense matrix: its numbers that are not 0.
  --
  -- >>> sparse_f32.from_dense [[0, 4], [3, 0]]
  -- ([0i64, 1, 2], [1i64, 0], [4f32, 3])
  def from_dense [n] [m] (xss: [n][m]R.t): ([n + 1]i64, []i64, []R.t) =
    let xs = flatten xss
    let found = filter (\i -> xs[i] R.!= zero) (indices xs)
    in from_places n m (map (/ m) found) (map (% m) found) (map (\i -> xs[i]) found)

  -- | The dense matrix with m columns; numbers at one place are added up.
  --
  -- >>> sparse_f32.to_dense 2 [0, 1, 2] [1, 0] [4, 3]
  -- [[0f32, 4], [3, 0]]
  def to_dense [r] [k] (m: i64) (indptr: [r]i64) (indices: [k]i64) (data: [k]R.t)
      : [r - 1][m]R.t =
    let is = csr_rows indptr :> [k]i64
    let places = map2 (\i j -> i * m + j) is indices
    in unflatten (reduce_by_index (replicate ((r - 1) * m) zero) (R.+) zero places data)

  -- | The arrays of the transpose of a matrix with m columns.
  --
  -- >>> sparse_f32.transposed 2 [0, 2, 2] [0, 1] [4, 3]
  -- ([0i64, 1, 2], [0i64, 0], [4f32, 3])
  def transposed [r] [k] (m: i64) (indptr: [r]i64) (indices: [k]i64) (data: [k]R.t)
      : ([m + 1]i64, [k]i64, [k]R.t) =
    from_places m (i64.max 1 (r - 1)) indices (csr_rows indptr :> [k]i64) data

  -- | The numbers [i, i] of a matrix; 0 where there is none.
  --
  -- >>> sparse_f32.diagonal [0, 2, 3] [0, 1, 0] [1, 2, 3]
  -- [1f32, 0]
  def diagonal [r] [k] (indptr: [r]i64) (indices: [k]i64) (data: [k]R.t): [r - 1]R.t =
    tabulate (r - 1) (\i ->
      loop sum = zero for j in indptr[i]..<indptr[i + 1] do
        if indices[j] == i then sum R.+ data[j] else sum)
}

module sparse_f32 = mk_sparse f32
module sparse_f64 = mk_sparse f64
