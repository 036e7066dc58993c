-- Monte Carlo: random walks in long sequential loops, and the mean of where they end.

def next (state: u32): u32 =
  let x = state ^ (state << 13)
  let x = x ^ (x >> 17)
  in x ^ (x << 5)

def walk (steps: i64) (seed: u32): f64 =
  let (_, x) = loop (state, x) = (seed | 1, 0) for _i < steps do
    let state = next state
    in (state, x + f64.u32 state / 4294967296 - 0.5)
  in x

-- sizes mean: n=1,steps=100; n=1000,steps=1000; n=1000000,steps=100; n=37,steps=0
entry mean [n] (steps: i64) (seeds: [n]u32): f64 = f64.sum (map (walk steps) seeds) / f64.i64 n

-- sizes ends: n=10,m=1000,steps=100; n=1000,m=1000,steps=50; n=100000,m=4,steps=50
-- sizes ends: n=13,m=17,steps=7; n=5,m=0,steps=2
entry ends [n][m] (steps: i64) (seeds: [n][m]u32): [n]f64 =
  map (\row -> f64.maximum (map (walk steps) row)) seeds
