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
