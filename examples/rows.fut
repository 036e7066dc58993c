-- Sums of the squares of rows: the program that `runelift demo` tunes.
--
-- What to look at: three versions.  Many short rows suit a work-item for each row.  A few long
-- ones leave most of a device idle then, and suit a work-item for each part of all elements.
-- ==
-- input { [[1f32, 2f32], [3f32, 4f32]] }
-- output { [5f32, 25f32] }
-- input { empty([3][0]f32) }
-- output { [0f32, 0f32, 0f32] }
-- random input { [5][70]f32 }
-- random input { [40][3]f32 }
-- "short rows" notest random input { [400000][8]f32 }
-- "square" notest random input { [1000][1000]f32 }
-- "long rows" notest random input { [2][3000000]f32 }

entry main [n][m] (xss: [n][m]f32): [n]f32 =
  map (\xs -> reduce (+) 0 (map (\x -> x * x) xs)) xss
