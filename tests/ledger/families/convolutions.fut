-- Layers of filters over an image with channels.

-- sizes layer: c=1,h=1000,w=1000,m=8; c=64,h=56,w=56,m=64; c=256,h=14,w=14,m=256
-- sizes layer: c=2,h=5,w=7,m=3; c=1,h=3,w=17,m=2
entry layer [c][h][w][m] (image: [c][h][w]f32) (filters: [m][c][3][3]f32): [m][][]f32 =
  map (\filter ->
         tabulate_2d (h - 2) (w - 2) (\i j ->
           f32.sum (map2 (\plane weights ->
                            f32.sum (map2 (*) (flatten plane[i:i + 3, j:j + 3]) (flatten weights)))
                         image filter))) filters
