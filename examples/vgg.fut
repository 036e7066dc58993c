-- The layers of VGG-16: nine convolutions of different sizes, from one text.
--
-- What to look at: the layer is a product of output channels and pixels, whose windows are views.
-- So a kernel shares filters between pixels, and windows between output channels, and there is no
-- matrix of windows (`runelift explain kernels`).  One text serves wide images with few channels
-- and small images with many.
--
-- Source of the sizes: Simonyan and Zisserman 2015, "Very deep convolutional networks for
-- large-scale image recognition".
-- ==
-- entry: main
-- input { [[[1f32, 2f32], [3f32, 4f32]]] [[[[1f32, 0f32, 0f32], [0f32, 2f32, 0f32], [0f32, 0f32, 3f32]]]] }
-- output { [[[14f32, 4f32], [6f32, 9f32]]] }
-- random input { [3][14][14]f32 [4][3][3][3]f32 }
-- auto output
-- random input { [4][9][7]f32 [8][4][3][3]f32 }
-- auto output
-- random input { [9][4][4]f32 [5][9][3][3]f32 }
-- auto output
-- random input { [2][1][1]f32 [1][2][3][3]f32 }
-- auto output
-- "layer 0" notest random input { [3][224][224]f32 [64][3][3][3]f32 }
-- "layer 2" notest random input { [64][224][224]f32 [64][64][3][3]f32 }
-- "layer 5" notest random input { [64][112][112]f32 [128][64][3][3]f32 }
-- "layer 7" notest random input { [128][112][112]f32 [128][128][3][3]f32 }
-- "layer 10" notest random input { [128][56][56]f32 [256][128][3][3]f32 }
-- "layer 12" notest random input { [256][56][56]f32 [256][256][3][3]f32 }
-- "layer 17" notest random input { [256][28][28]f32 [512][256][3][3]f32 }
-- "layer 19" notest random input { [512][28][28]f32 [512][512][3][3]f32 }
-- "layer 24" notest random input { [512][14][14]f32 [512][512][3][3]f32 }

def windows [c][h][w] (image: [c][h][w]f32): [h][w][c][3][3]f32 =
  let plane_windows (plane: [h][w]f32) =
    lift.slide2d 3 1 3 1 (lift.pad2d 1 1 1 1 0 plane) :> [h][w][3][3]f32
  in lift.transpose_nd_120 (map plane_windows image)

def dot [n] (xs: [n]f32) (ys: [n]f32): f32 = f32.sum (map2 (*) xs ys)

def convolution [c][h][w][m] (image: [c][h][w]f32) (filters: [m][c][3][3]f32): [m][h][w]f32 =
  map (\filter -> map (map (\window -> dot (flatten_3d window) (flatten_3d filter)))
                      (windows image))
      filters

entry main [c][h][w][m] (image: [c][h][w]f32) (filters: [m][c][3][3]f32): [m][h][w]f32 =
  convolution image filters

-- With what follows each convolution in the network: a bias for each channel, and no negative
-- numbers.
-- ==
-- entry: layer
-- random input { [3][8][6]f32 [4][3][3][3]f32 [4]f32 }
-- auto output
-- random input { [5][3][3]f32 [2][5][3][3]f32 [2]f32 }
-- auto output
entry layer [c][h][w][m] (image: [c][h][w]f32) (filters: [m][c][3][3]f32) (biases: [m]f32)
    : [m][h][w]f32 =
  map2 (\bias -> map (map (\x -> f32.max 0 (bias + x)))) biases (convolution image filters)
