-- A scan in a loop in a map: the running example of Munksgaard et al., TFP 2021.
--
-- What to look at: three versions.  A row per work-item suits many short rows; a row per
-- work-group keeps the row on chip through all 64 iterations; the flat version (a segmented
-- scan per iteration) suits few long rows.
-- ==
-- input { [[1, 2, 3], [4, 5, 6]] }
-- auto output
-- input { empty([0][4]i32) }
-- output { empty([0][4]i32) }
-- input { empty([3][0]i32) }
-- output { empty([3][0]i32) }
-- random input { [5][70]i32 }
-- random input { [40][3]i32 }
-- "tall" notest random input { [65536][16]i32 }
-- "wide" notest random input { [4][262144]i32 }
-- "square" notest random input { [512][512]i32 }

entry main [m][n] (xss: [m][n]i32): [m][n]i32 =
  map2 (\xs i ->
          loop xs for _j < 64 do
            scan (+) 0 (map (+ i) xs))
       xss
       (map i32.i64 (iota m))
