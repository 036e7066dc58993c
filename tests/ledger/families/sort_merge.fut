-- Merge sorts, flat and in rows: each number looks for its place in the neighbouring run by halving.

def below [n] (xs: [n]i32) (from: i64) (to: i64) (x: i32) (equal: bool): i64 =
  let (low, _) =
    loop (low, high) = (from, to) while low < high do
      let middle = (low + high) / 2
      in if xs[middle] < x || (equal && xs[middle] == x) then (middle + 1, high) else (low, middle)
  in low - from

def sorted [n] (xs: [n]i32): [n]i32 =
  let (xs, _) =
    loop (xs, width) = (copy xs, 1) while width < n do
      let place i =
        let run = i / width
        let start = run / 2 * (2 * width)
        let (other, is_right) = (if run % 2 == 0 then start + width else start, run % 2 == 1)
        let (from, to) = (i64.min n other, i64.min n (other + width))
        in start + i - run * width + below xs from to xs[i] is_right
      in (scatter (replicate n 0) (map place (iota n)) xs, 2 * width)
  in xs

-- sizes flat: n=0; n=1; n=10007; n=1000000; n=4000000
entry flat [n] (xs: [n]i32): [n]i32 = sorted xs

-- sizes rows: n=1,m=1000000; n=1000,m=1000; n=100000,m=16; n=13,m=17; n=31,m=37
entry rows [n][m] (xss: [n][m]i32): [n][m]i32 = map sorted xss
