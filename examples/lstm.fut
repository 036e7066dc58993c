-- Long short-term memory over a sequence: its loss, and the gradient by the weights.
--
-- What to look at: the loop over the sequence keeps its states, and the return sweep reads them
-- backwards.  Products of matrices have products of matrices as adjoints.
-- ==
-- random input { [3][4][2]f32 [4][5]f32 [4][5][2]f32 [4][5][5]f32 [4][5]f32 }
-- auto output
-- "small" notest random input { [20][32][64]f32 [32][64]f32 [4][64][64]f32 [4][64][64]f32 [4][64]f32 }
-- "large" notest random input { [20][512][128]f32 [512][192]f32 [4][192][128]f32 [4][192][192]f32 [4][192]f32 }

def sigmoid (x: f32): f32 = 1 / (1 + f32.exp (-x))

def product [n][m][p] (a: [n][p]f32) (b: [m][p]f32): [n][m]f32 =
  map (\x -> map (\y -> f32.sum (map2 (*) x y)) b) a

def step [b][i][h] (wx: [4][h][i]f32, wh: [4][h][h]f32, bias: [4][h]f32)
                   (hidden: [b][h]f32, cell: [b][h]f32) (input: [b][i]f32)
                 : ([b][h]f32, [b][h]f32) =
  let sums = map3 (\wx wh bias -> map2 (map3 (\x y z -> x + y + z) bias)
                                       (product input wx) (product hidden wh))
                  wx wh bias
  let cell = map4 (map4 (\c forget enter new ->
                           sigmoid forget * c + sigmoid enter * f32.tanh new))
                  cell sums[0] sums[1] sums[3]
  in (map2 (map2 (\c leave -> sigmoid leave * f32.tanh c)) cell sums[2], cell)

def mean_square [t][b][i][h] (inputs: [t][b][i]f32) (wanted: [b][h]f32)
                             (weights: ([4][h][i]f32, [4][h][h]f32, [4][h]f32)): f32 =
  let zero = replicate b (replicate h 0)
  let (hidden, _) = loop state = (zero, zero) for input in inputs do step weights state input
  in f32.sum (flatten (map2 (map2 (\x y -> (x - y) ** 2)) hidden wanted)) / f32.i64 (b * h)

entry loss [t][b][i][h] (inputs: [t][b][i]f32) (wanted: [b][h]f32) (wx: [4][h][i]f32)
                        (wh: [4][h][h]f32) (bias: [4][h]f32): f32 =
  mean_square inputs wanted (wx, wh, bias)

entry main [t][b][i][h] (inputs: [t][b][i]f32) (wanted: [b][h]f32) (wx: [4][h][i]f32)
                        (wh: [4][h][h]f32) (bias: [4][h]f32)
                      : (f32, [4][h][i]f32, [4][h][h]f32, [4][h]f32) =
  let (value, (by_wx, by_wh, by_bias)) = vjp2 (mean_square inputs wanted) (wx, wh, bias) 1
  in (value, by_wx, by_wh, by_bias)
