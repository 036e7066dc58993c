-- A linear map composed of three, applied to a vector.
--
-- What to look at: `runelift bench examples/rules/chain.fut --rules examples/rules/chain.rules`.
-- The program composes the maps first, by two products of matrices.  The rule `chain` applies one
-- after the other instead: for n rows about 3 n^2 multiplications in place of 2 n^3.
-- ==
-- input { [[1f32, 2f32], [3f32, 4f32]] [[0f32, 1f32], [1f32, 0f32]] [[2f32, 0f32], [0f32, 1f32]]
--         [1f32, 10f32] }
-- output { [14f32, 38f32] }
-- input { empty([0][2]f32) empty([2][0]f32) empty([0][3]f32) [1f32, 2f32, 3f32] }
-- output { empty([0]f32) }
-- input { [[1f32]] empty([1][0]f32) empty([0][1]f32) [5f32] }
-- output { [0f32] }
-- random input { [17][5]f32 [5][9]f32 [9][33]f32 [33]f32 }
-- auto output
-- "square" notest random input { [512][512]f32 [512][512]f32 [512][512]f32 [512]f32 }
-- "wide" notest random input { [64][2048]f32 [2048][64]f32 [64][2048]f32 [2048]f32 }

def compose [n][m][k] (f: [n][m]f32) (g: [m][k]f32): [n][k]f32 =
  map (\xs -> map (\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose g)) f

def apply [n][m] (f: [n][m]f32) (x: [m]f32): [n]f32 =
  map (\xs -> reduce (+) 0 (map2 (*) xs x)) f

entry main [n][m][k][l] (f: [n][m]f32) (g: [m][k]f32) (h: [k][l]f32) (x: [l]f32): [n]f32 =
  apply (compose (compose f g) h) x
