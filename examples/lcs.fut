-- How long the longest common subsequence of two sequences of the same length is.
--
-- What to look at: the anti-diagonals of the table come one after the other; a loop hands on the last
-- two of them, in three buffers that take turns, and one kernel does all of its iterations.
-- ==
-- input { [1u8, 2u8, 3u8, 4u8, 1u8] [3u8, 4u8, 1u8, 2u8, 1u8] }
-- output { 3i32 }
-- random input { [70]u8 [70]u8 }
-- auto output
-- "small" notest random input { [256]u8 [256]u8 }
-- "large" notest random input { [4096]u8 [4096]u8 }

-- Cell (i, j) is about the first i and j symbols; it is element i of anti-diagonal i + j.
entry main [n] (as: [n]u8) (bs: [n]u8): i32 =
  let none = replicate (n + 1) 0i32
  let (_, last) =
    loop (before, last) = (none, none) for d in 2...2 * n do
      let cell i =
        let j = d - i
        in if i < 1 || j < 1 || j > n then 0
           else if as[i - 1] % 4 == bs[j - 1] % 4 then before[i - 1] + 1
           else i32.max last[i - 1] last[i]
      in (last, tabulate (n + 1) cell)
  in last[n]
