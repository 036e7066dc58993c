-- A layer of a neural network: each filter over windows of a padded image with several channels.
--
-- What to look at: padding and windows are views of the image (`runelift explain kernels`), so
-- neither is stored.  A window reaches over the border, where its elements are zeros.
-- ==
-- entry: main
-- input { [[[1f32, 2f32, 3f32], [4f32, 5f32, 6f32]]]
--         [[[[0f32, 1f32, 0f32], [1f32, 1f32, 1f32], [0f32, 1f32, 0f32]]]] }
-- output { [[[7f32, 11f32, 11f32], [10f32, 17f32, 14f32]]] }
-- random input { [2][9][11]f32 [3][2][3][3]f32 }
-- auto output
-- random input { [1][1][1]f32 [2][1][3][3]f32 }
-- auto output
-- "small" notest random input { [64][56][56]f32 [64][64][3][3]f32 }
-- "medium" notest random input { [64][224][224]f32 [64][64][3][3]f32 }
-- "large" notest random input { [512][28][28]f32 [512][512][3][3]f32 }

def windows [c][h][w] (image: [c][h][w]f32): [h][w][c][3][3]f32 =
  let plane_windows (plane: [h][w]f32) =
    lift.slide2d 3 1 3 1 (lift.pad2d 1 1 1 1 0 plane) :> [h][w][3][3]f32
  in lift.transpose_nd_120 (map plane_windows image)

def dot xs ys = f32.sum (map2 (*) xs ys)

entry main [c][h][w][m] (image: [c][h][w]f32) (filters: [m][c][3][3]f32): [m][h][w]f32 =
  let flat = map flatten_3d filters
  in map (\filter -> map (map (\window -> dot (flatten_3d window) filter)) (windows image)) flat

-- The greatest of each two by two pixels.
-- ==
-- entry: pooled
-- input { [[1f32, 5f32, 2f32, 0f32], [3f32, 4f32, 7f32, 1f32]] } output { [[5f32, 7f32]] }
-- random input { [25][34]f32 }
-- auto output
entry pooled [h][w] (plane: [h][w]f32): [][]f32 =
  map (map (\window -> f32.maximum (flatten window))) (lift.slide2d 2 2 2 2 plane)
