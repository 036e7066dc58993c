def cross (a: [3]f32): f32 =
  let [x, y, z] = a
  in x * y * z
def of_call (xs: [2]f32): f32 =
  let [x, y] = map (+ 1) xs
  in x + y
def single (xs: [1]f32): f32 =
  let [x] = xs
  in x
def of_lambda [n] (xs: [n][2]f32): [n]f32 = map (\[x, y] -> x + y) xs
def of_loop (xs: [2]f32): [2]f32 = loop [x, y] = xs for _i < 3 do [y, x]
def sizes [n, m] (xs: [n][m]f32) = xs
