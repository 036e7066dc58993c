-- A network of two layers that puts points into classes: its loss, and the gradient by the weights.
--
-- What to look at: `backprop` has the return sweep by hand, here it is derived.  The loss is the mean
-- of the negative logarithms of the probabilities that points have their classes.
-- `examples/train.py` trains with it.
-- ==
-- random input { [5][3]f32 [5]f32 [4][5]f32 [4]f32 [40][3]f32 [40]i64 }
-- auto output
-- "small" notest random input { [128][32]f32 [128]f32 [10][128]f32 [10]f32 [1024][32]f32 [1024]i64 }
-- "large" notest random input { [512][64]f32 [512]f32 [10][512]f32 [10]f32 [20000][64]f32 [20000]i64 }

def layer [n][d][h] (w: [h][d]f32) (b: [h]f32) (points: [n][d]f32): [n][h]f32 =
  map (\point -> map2 (\row bias -> bias + f32.sum (map2 (*) row point)) w b) points

-- Scores of the classes of each point.
entry scores [n][d][h][c] (w: [h][d]f32) (b: [h]f32) (v: [c][h]f32) (a: [c]f32)
                          (points: [n][d]f32): [n][c]f32 =
  layer v a (map (map f32.tanh) (layer w b points))

entry loss [n][d][h][c] (w: [h][d]f32) (b: [h]f32) (v: [c][h]f32) (a: [c]f32)
                        (points: [n][d]f32) (classes: [n]i64): f32 =
  let of_point row k =
    let top = f32.maximum row
    in top + f32.log (f32.sum (map (\x -> f32.exp (x - top)) row)) - row[k % c]
  in f32.sum (map2 of_point (scores w b v a points) classes) / f32.i64 n

entry main [n][d][h][c] (w: [h][d]f32) (b: [h]f32) (v: [c][h]f32) (a: [c]f32)
                        (points: [n][d]f32) (classes: [n]i64)
                      : (f32, [h][d]f32, [h]f32, [c][h]f32, [c]f32) =
  let (value, (by_w, by_b, by_v, by_a)) =
    vjp2 (\(w, b, v, a) -> loss w b v a points classes) (w, b, v, a) 1
  in (value, by_w, by_b, by_v, by_a)
