-- A layer of a transformer for a batch of sequences: attention by several heads, then a network.
--
-- What to look at: what the layer does with a sequence is split into heads and network, and what a
-- head does is split again.  A group may have a head, or a sequence, or a single query.
-- ==
-- input { [[[[1f32, 0f32], [0f32, 1f32]]]] [[[[1f32, 0f32], [0f32, 1f32]]]]
--   [[[[1f32, 2f32], [3f32, 4f32]]]] [[1f32, -1f32], [-1f32, 1f32]] [[1f32, 0f32], [0f32, 1f32]] }
-- output { [[[1.6604769f32, 3.6604769f32], [2.3395231f32, 4.3395231f32]]] }
-- random input { [2][3][5][4]f32 [2][3][5][4]f32 [2][3][5][4]f32 [7][12]f32 [12][7]f32 }
-- auto output
-- random input { [3][1][33][1]f32 [3][1][33][1]f32 [3][1][33][1]f32 [1][1]f32 [1][1]f32 }
-- auto output
-- random input { [0][2][4][3]f32 [0][2][4][3]f32 [0][2][4][3]f32 [5][6]f32 [6][5]f32 }
-- auto output
-- "one" notest random input { [1][8][1024][64]f32 [1][8][1024][64]f32 [1][8][1024][64]f32
--   [512][512]f32 [512][512]f32 }
-- "many" notest random input { [64][8][64][32]f32 [64][8][64][32]f32 [64][8][64][32]f32
--   [256][256]f32 [256][256]f32 }
-- "short" notest random input { [512][4][16][16]f32 [512][4][16][16]f32 [512][4][16][16]f32
--   [64][64]f32 [64][64]f32 }

def dot [n] (xs: [n]f32) (ys: [n]f32): f32 = f32.sum (map2 (*) xs ys)

def softmax [n] (xs: [n]f32): [n]f32 =
  let top = f32.maximum xs
  let shares = map (\x -> f32.exp (x - top)) xs
  let total = f32.sum shares
  in map (/ total) shares

def attention [n][d] (queries: [n][d]f32) (keys: [n][d]f32) (values: [n][d]f32): [n][d]f32 =
  let attend query =
    let weights = softmax (map (\key -> dot query key / f32.sqrt (f32.i64 d)) keys)
    in map (dot weights) (transpose values)
  in map attend queries

-- Each token is added to what the network makes of it.
def network [k][f] (inner: [f][k]f32) (outer: [k][f]f32) (token: [k]f32): [k]f32 =
  let hidden = map (\weights -> f32.max 0 (dot weights token)) inner
  in map2 (\x weights -> x + dot weights hidden) token outer

entry main [b][h][n][d][f] (queries: [b][h][n][d]f32) (keys: [b][h][n][d]f32)
                           (values: [b][h][n][d]f32) (inner: [f][h * d]f32) (outer: [h * d][f]f32)
                         : [b][n][h * d]f32 =
  let layer qs ks vs =
    let heads = map3 attention qs ks vs
    in map (\token -> network inner outer (flatten token)) (transpose heads)
  in map3 layer queries keys values
