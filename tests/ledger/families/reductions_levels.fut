-- Reductions on three levels: of the innermost rows, of planes, and one inside another.

-- sizes inner: n=1,m=1,k=10000000; n=200,m=200,k=200; n=10000000,m=1,k=1; n=17,m=5000,k=100
-- sizes inner: n=7,m=13,k=11; n=7,m=13,k=0
entry inner [n][m][k] (xs: [n][m][k]f32): [n][m]f32 = map (map f32.sum) xs

-- sizes planes: n=1,m=3000,k=3000; n=1000,m=100,k=100; n=100000,m=10,k=10; n=13,m=7,k=3
-- sizes planes: n=7,m=13,k=11
entry planes [n][m][k] (xs: [n][m][k]i32): [n]i32 =
  map (\plane -> i32.maximum (map i32.sum plane)) xs

-- sizes middle: n=1,m=3000,k=3000; n=200,m=200,k=200; n=10000,m=100,k=10; n=7,m=13,k=11
-- sizes middle: n=7,m=13,k=0
entry middle [n][m][k] (xs: [n][m][k]f64): [n][k]f64 =
  map (\plane -> map f64.sum (transpose plane)) xs
