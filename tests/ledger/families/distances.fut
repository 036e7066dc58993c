-- Edit distances: a row of the table after the other, whose dependence is a scan.

def distance [n][m] (xs: [n]u8) (ys: [m]u8): i32 =
  let last = loop above = map i32.i64 (iota (m + 1)) for i < n do
    let left = tabulate (m + 1) (\j ->
      if j == 0 then i32.i64 i + 1
      else i32.min (above[j] + 1) (above[j - 1] + i32.bool (xs[i] % 4 != ys[j - 1] % 4)))
    let least = scan i32.min i32.highest (map2 (\x j -> x - i32.i64 j) left (iota (m + 1)))
    in map2 (\x j -> x + i32.i64 j) least (iota (m + 1))
  in last[m]

-- sizes single: n=1,m=1; n=1000,m=1000; n=200,m=100000; n=13,m=17
entry single [n][m] (xs: [n]u8) (ys: [m]u8): i32 = distance xs ys

-- sizes batched: b=100,n=100,m=100; b=20000,n=16,m=16; b=4,n=300,m=1000; b=3,n=5,m=7; b=1,n=3,m=37
entry batched [b][n][m] (xss: [b][n]u8) (yss: [b][m]u8): [b]i32 = map2 distance xss yss
