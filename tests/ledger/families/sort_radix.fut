-- Radix sorts by two bits at a time: numbers of 4 bytes, and bytes with their places.

def pass [n] 't (digit: t -> i64) (xs: [n]t) (first: t): [n]t =
  let digits = map digit xs
  let flag d = map (\e -> i32.bool (e == d)) digits
  let (a, b, c, d) = unzip4 (scan (\(a, b, c, d) (e, f, g, h) -> (a + e, b + f, c + g, d + h))
                                  (0, 0, 0, 0) (zip4 (flag 0) (flag 1) (flag 2) (flag 3)))
  let (ta, tb, tc) = if n == 0 then (0, 0, 0) else (a[n - 1], b[n - 1], c[n - 1])
  let place e i j k l =
    i64.i32 (if e == 0 then i - 1 else if e == 1 then ta + j - 1
             else if e == 2 then ta + tb + k - 1 else ta + tb + tc + l - 1)
  in scatter (replicate n first) (map5 place digits a b c d) xs

-- sizes words: n=0; n=1; n=10007; n=1000000; n=10000000
entry words [n] (xs: [n]u32): [n]u32 =
  loop xs for i < 16 do pass (\x -> i64.u32 (x >> u32.i64 (2 * i) & 3)) xs 0

-- sizes places: n=1; n=10007; n=5000000; n=211
entry places [n] (xs: [n]u8): [n]i32 =
  let order = loop order = zip xs (map i32.i64 (iota n)) for i < 4 do
    pass (\(x, _) -> i64.u8 (x >> u8.i64 (2 * i) & 3)) order (0, 0)
  in map (.1) order
