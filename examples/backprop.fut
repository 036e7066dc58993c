-- One step of training a network with one hidden layer by back-propagation with momentum
-- (Rumelhart, Hinton and Williams 1986).
--
-- What to look at: the input layer is long and the hidden one short, so one product has a few
-- long reductions, the other many short ones; biases make sizes like [n + 1].
-- ==
-- input { [1f32, -0.5f32] [0.9f32] [[0.6f32, -0.8f32], [-0.6f32, -0.5f32], [-0.6f32, 0.6f32]]
--   [[0.7f32], [0.2f32], [-0.9f32]] [[-0.8f32, -0.3f32], [-0.1f32, 0.2f32], [0f32, -0.4f32]]
--   [[-0.6f32], [0.4f32], [0.4f32]] }
-- output { 0.05382823f32 [[0.36078954f32, -0.8920313f32], [-0.6292105f32, -0.44203126f32],
--   [-0.6003948f32, 0.48101565f32]] [[0.5361484f32], [0.32927638f32], [-0.7772873f32]]
--   [[-0.23921049f32, -0.09203128f32], [-0.029210476f32, 0.05796873f32], [-0.00039476276f32,
--   -0.11898437f32]] [[-0.16385154f32], [0.12927637f32], [0.12271265f32]] }
-- random input { [20]f32 [2]f32 [21][3]f32 [4][2]f32 [21][3]f32 [4][2]f32 }
-- auto output
-- "16384" notest random input { [16384]f32 [1]f32 [16385][16]f32 [17][1]f32 [16385][16]f32 [17][1]f32 }
-- "1048576" notest random input { [1048576]f32 [1]f32
--   [1048577][16]f32 [17][1]f32 [1048577][16]f32 [17][1]f32 }
-- "wide" notest random input { [4096]f32 [64]f32 [4097][1024]f32 [1025][64]f32 [4097][1024]f32 [1025][64]f32 }

def rate = 0.3f32
def momentum = 0.3f32

def dot [n] (xs: [n]f32) (ys: [n]f32): f32 = reduce (+) 0 (map2 (*) xs ys)
def sigmoid (x: f32): f32 = 1 / (1 + f32.exp (-x))

-- The units of the next layer; row 0 of the weights belongs to the bias.
def forward [n][m] (weights: [n + 1][m]f32) (units: [n]f32): [m]f32 =
  let links = weights[1:] :> [n][m]f32
  in map2 (\bias link -> sigmoid (bias + dot link units)) weights[0] (transpose links)

-- How far a unit is off, times the slope of the sigmoid at its value.
def output_delta (target: f32) (y: f32): f32 = y * (1 - y) * (target - y)

def hidden_deltas [h][o] (weights: [h + 1][o]f32) (deltas: [o]f32) (units: [h]f32): [h]f32 =
  map2 (\link y -> y * (1 - y) * dot deltas link) (weights[1:] :> [h][o]f32) units

-- The changed weights and the change, which the next step will remember.
def adjust [n][m] (deltas: [m]f32) (units: [n]f32)
                  (weights: [n + 1][m]f32) (before: [n + 1][m]f32)
                : ([n + 1][m]f32, [n + 1][m]f32) =
  let change = map2 (\i row -> let unit = if i == 0 then 1 else units[i - 1]
                               in map2 (\delta old -> rate * delta * unit + momentum * old)
                                       deltas row)
                    (iota (n + 1)) before
  in (map2 (map2 (+)) weights change, change)

entry main [n][h][o] (inputs: [n]f32) (target: [o]f32)
                     (weights: [n + 1][h]f32) (outer: [h + 1][o]f32)
                     (before: [n + 1][h]f32) (outer_before: [h + 1][o]f32)
    : (f32, [n + 1][h]f32, [h + 1][o]f32, [n + 1][h]f32, [h + 1][o]f32) =
  let hidden = forward weights inputs
  let output = forward outer hidden
  let deltas = map2 output_delta target output
  let hidden_deltas = hidden_deltas outer deltas hidden
  let error = f32.sum (map f32.abs deltas)
  let (outer, outer_change) = adjust deltas hidden outer outer_before
  let (weights, change) = adjust hidden_deltas inputs weights before
  in (error, weights, outer, change, outer_change)
