-- Trees of prices: each option has a loop over time whose row of prices gets shorter.

-- sizes trees: n=1,t=1000; n=1000,t=100; n=100000,t=16; n=13,t=7; n=1,t=31
entry trees [n] (t: i64) (strikes: [n]f32): [n]f32 =
  map (\strike ->
         let step = 0.1 / f32.sqrt (f32.i64 t)
         let payoff i = f32.max 0 (f32.exp (step * f32.i64 (2 * i - t)) - strike)
         let values = loop values = map payoff (iota (t + 1)) for _i < t do
           map (\i -> if i == t then values[i] else 0.499 * (values[i] + values[i + 1]))
               (iota (t + 1))
         in values[0]) strikes
