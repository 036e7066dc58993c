-- Convolutions with margins of zeros, by windows that are only looked at.
def windows [c][h][w] (x: [c][h][w]f32): [h][w][c][3][3]f32 =
  let planes = map (\p -> lift.slide2d 3 1 3 1 (lift.pad2d 1 1 1 1 0 p) :> [h][w][3][3]f32) x
  in lift.transpose_nd_120 planes

entry flat [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][h][w]f32 =
  map (\k -> map (map (\win -> f32.sum (map2 (*) (flatten_3d win) (flatten_3d k)))) (windows x)) ker

entry nest [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][h][w]f32 =
  map (\k -> map (map (\win -> f32.sum (map2 (\a b -> f32.sum (map2 (\c d ->
    f32.sum (map2 (*) c d)) a b)) win k))) (windows x)) ker

entry points [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][h][w]f32 =
  let wins = flatten (windows x)
  in map (\k -> unflatten (map (\win -> f32.sum (map2 (*) (flatten_3d win) (flatten_3d k))) wins)) ker

entry padded_before [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][h][w]f32 =
  let padded = map (lift.pad2d 1 1 1 1 0) x
  let planes = map (\p -> lift.slide2d 3 1 3 1 p :> [h][w][3][3]f32) padded
  let wins = lift.transpose_nd_120 planes
  in map (\k -> map (map (\win -> f32.sum (map2 (*) (flatten_3d win) (flatten_3d k)))) wins) ker

-- The same with tests in place of margins.
def inside [c][h][w] (x: [c][h][w]f32) (k: i64) (i: i64) (j: i64): f32 =
  if 0 <= i && i < h && 0 <= j && j < w then x[k, i, j] else 0

entry tested [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][h][w]f32 =
  tabulate_3d m h w (\o i j ->
    f32.sum (tabulate c (\k ->
      f32.sum (tabulate 3 (\di ->
        f32.sum (tabulate 3 (\dj -> inside x k (i + di - 1) (j + dj - 1) * ker[o, k, di, dj])))))))

entry tested_before [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][h][w]f32 =
  let padded = tabulate_3d c (h + 2) (w + 2) (\k i j -> inside x k (i - 1) (j - 1))
  in tabulate_3d m h w (\o i j ->
    f32.sum (tabulate c (\k ->
      f32.sum (tabulate 3 (\di ->
        f32.sum (tabulate 3 (\dj -> padded[k, i + di, j + dj] * ker[o, k, di, dj])))))))
