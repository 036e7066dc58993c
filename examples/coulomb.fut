-- Direct Coulomb summation: the electric potential of atoms at the points of a grid.
--
-- What to look at: all points read the same atoms, and points that differ in one dimension share
-- the squared distances in the others.
-- ==
-- input { 2i64 1i64 1i64 0.5f32 [0f32] [0f32] [1f32] [2f32] }
-- output { [[[2f32, 1.7888544f32]]] }
-- random input { 5i64 3i64 2i64 0.25f32 [11]f32 [11]f32 [11]f32 [11]f32 }
-- auto output
-- "small" notest random input { 32i64 32i64 32i64 0.1f32
--   [2048]f32 [2048]f32 [2048]f32 [2048]f32 }
-- "medium" notest random input { 64i64 64i64 64i64 0.1f32
--   [4096]f32 [4096]f32 [4096]f32 [4096]f32 }
-- "large" notest random input { 128i64 128i64 128i64 0.1f32
--   [8192]f32 [8192]f32 [8192]f32 [8192]f32 }

entry main [n] (width: i64) (height: i64) (depth: i64) (spacing: f32)
               (xs: [n]f32) (ys: [n]f32) (zs: [n]f32) (charges: [n]f32): [][][]f32 =
  tabulate_3d depth height width (\k j i ->
    let (x, y, z) = (spacing * f32.i64 i, spacing * f32.i64 j, spacing * f32.i64 k)
    in reduce (+) 0 (map4 (\ax ay az charge ->
         let (dx, dy, dz) = (x - ax, y - ay, z - az)
         in charge / f32.sqrt (dx * dx + dy * dy + dz * dz))
                       xs ys zs charges))
