-- Convolutions of several channels with kernels of 3 by 3, without padding.

entry indices [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][][]f32 =
  tabulate_3d m (h - 2) (w - 2) (\o i j ->
    f32.sum (tabulate c (\k ->
      f32.sum (tabulate 3 (\di ->
        f32.sum (tabulate 3 (\dj -> x[k, i + di, j + dj] * ker[o, k, di, dj])))))))

entry flat_sum [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][][]f32 =
  tabulate_3d m (h - 2) (w - 2) (\o i j ->
    f32.sum (tabulate (c * 3 * 3) (\r ->
      let k = r / 9
      let d = r % 9
      in x[k, i + d / 3, j + d % 3] * ker[o, k, d / 3, d % 3])))

entry windows [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][][]f32 =
  let wins = tabulate_2d (h - 2) (w - 2) (\i j -> x[:, i:i + 3, j:j + 3] :> [c][3][3]f32)
  in map (\k -> map (map (\win -> f32.sum (map2 (*) (flatten_3d win) (flatten_3d k)))) wins) ker

entry nested_windows [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][][]f32 =
  let wins = tabulate_2d (h - 2) (w - 2) (\i j -> x[:, i:i + 3, j:j + 3] :> [c][3][3]f32)
  in map (\k -> map (map (\win ->
    f32.sum (map2 (\a b -> f32.sum (map2 (\c d -> f32.sum (map2 (*) c d)) a b)) win k))) wins) ker

entry flat_points [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][][]f32 =
  let ws = map flatten_3d ker
  in map (\k -> unflatten (tabulate ((h - 2) * (w - 2)) (\p ->
       let i = p / (w - 2)
       let j = p % (w - 2)
       in f32.sum (map2 (*) (flatten_3d (x[:, i:i + 3, j:j + 3] :> [c][3][3]f32)) k)))) ws

def slide 'a [n] (xs: [n]a): [n - 2][3]a = tabulate (n - 2) (\i -> xs[i:i + 3] :> [3]a)

entry slid [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][][]f32 =
  let slide2d (plane: [h][w]f32) = map transpose (slide (map slide plane))
  let wins = map transpose (transpose (map slide2d x))
  in map (\k -> map (map (\win -> f32.sum (map2 (*) (flatten_3d win) (flatten_3d k)))) wins) ker

entry lifted [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][][]f32 =
  let wins = map transpose (transpose (map (lift.slide2d 3 1 3 1) x))
  in map (\k -> map (map (\win -> f32.sum (map2 (*) (flatten_3d win) (flatten_3d k)))) wins) ker

entry lifted_nest [c][h][w][m] (x: [c][h][w]f32) (ker: [m][c][3][3]f32): [m][][]f32 =
  let wins = lift.transpose_nd_120 (map (lift.slide2d 3 1 3 1) x)
  in map (\k -> map (map (\win ->
    f32.sum (map2 (\a b -> f32.sum (map2 (\c d -> f32.sum (map2 (*) c d)) a b)) win k))) wins) ker
