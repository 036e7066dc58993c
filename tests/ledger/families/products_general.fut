-- Products with other operators: least sums as in shortest paths, and squares of differences.

-- sizes paths: n=512,m=512,k=512; n=32,m=32,k=20000; n=2000,m=2000,k=10; n=13,m=17,k=19
-- sizes paths: n=7,m=13,k=11; n=1,m=37,k=3
entry paths [n][k][m] (xss: [n][k]i32) (yss: [k][m]i32): [n][m]i32 =
  map (\xs -> map (\ys -> i32.minimum (map2 (+) xs ys)) (transpose yss)) xss

-- sizes distances: n=1000,m=1000,k=3; n=1000,m=1000,k=300; n=1,m=100000,k=30; n=13,m=17,k=5
-- sizes distances: n=7,m=13,k=11
entry distances [n][m][k] (xss: [n][k]f32) (yss: [m][k]f32): [n][m]f32 =
  map (\xs -> map (\ys -> f32.sum (map2 (\x y -> (x - y) * (x - y)) xs ys)) yss) xss
