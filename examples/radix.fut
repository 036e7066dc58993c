-- Radix sort: numbers go before or behind those with the other value of a bit, one bit after the
-- other, the least significant one first.
--
-- What to look at: two scans of the same array, which become one kernel with two operators and make
-- the copy that is overwritten; the scatter reads the number of zeros itself.
-- ==
-- input { [5u32, 0u32, 4294967295u32, 5u32, 2u32] }
-- output { [0u32, 2u32, 5u32, 5u32, 4294967295u32] }
-- input { empty([0]u32) }
-- output { empty([0]u32) }
-- random input { [301]u32 }
-- auto output
-- "small" notest random input { [10000]u32 }
-- "large" notest random input { [1000000]u32 }

def pass [n] (xs: [n]u32) (bit: i32): [n]u32 =
  let ones = map (\x -> i64.u32 (x >> u32.i32 bit & 1)) xs
  let zeros_before = scan (+) 0 (map (1 -) ones)
  let ones_before = scan (+) 0 ones
  let zeros = if n == 0 then 0 else zeros_before[n - 1]
  let places = map3 (\one z o -> if one == 0 then z - 1 else zeros + o - 1)
                    ones zeros_before ones_before
  in scatter (copy xs) places xs

entry main [n] (xs: [n]u32): [n]u32 =
  loop xs for bit < 32 do pass xs bit
