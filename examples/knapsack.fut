-- The most that things of a total weight can be worth.
--
-- What to look at: a row of the table for each thing, from the row before; its weight and value stay on
-- the device, and one kernel makes all rows.
-- ==
-- input { [2i64, 3i64, 4i64] [4i64, 5i64, 6i64] 7i64 }
-- output { 9i64 }
-- input { empty([0]i64) empty([0]i64) 7i64 }
-- output { 0i64 }
-- random input { [13]i64 [13]i64 90i64 }
-- auto output
-- "small" notest random input { [50]i64 [50]i64 1000i64 }
-- "large" notest random input { [200]i64 [200]i64 100000i64 }

entry main [n] (weights: [n]i64) (worths: [n]i64) (capacity: i64): i64 =
  let weights = map (\weight -> weight % 1000 + 1) weights
  let worths = map (% 1000) worths
  let row =
    loop row = replicate (capacity + 1) 0 for i < n do
      tabulate (capacity + 1) (\room ->
        if room < weights[i] then row[room]
        else i64.max row[room] (row[room - weights[i]] + worths[i]))
  in row[capacity]
