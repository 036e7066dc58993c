-- The matrix Q of magnetic resonance imaging without a Cartesian grid (Stone et al. 2008): what
-- every sample in k-space adds to every voxel.
--
-- What to look at: a redomap with two results and many samples that are the same for all voxels.
-- ==
-- input { [-0.6f32, 0.3f32, 0.7f32] [-0.5f32, 0.1f32, -0.3f32] [0.8f32, -0.8f32, 0f32] [0.8f32,
--   -0.1f32, -0.7f32] [0.5f32, 0.9f32, 0.9f32] [0.8f32, -0.2f32] [0.4f32, 0.9f32] [0.1f32,
--   0.8f32] }
-- output { [-1.6753405f32, -2.0570781f32] [1.7815573f32, 0.653614f32] }
-- random input { [17]f32 [17]f32 [17]f32 [17]f32 [17]f32 [33]f32 [33]f32 [33]f32 }
-- auto output
-- "small" notest random input { [3072]f32 [3072]f32 [3072]f32 [3072]f32 [3072]f32
--   [32768]f32 [32768]f32 [32768]f32 }
-- "large" notest random input { [2048]f32 [2048]f32 [2048]f32 [2048]f32 [2048]f32
--   [262144]f32 [262144]f32 [262144]f32 }
-- "few voxels" notest random input { [1048576]f32 [1048576]f32 [1048576]f32 [1048576]f32 [1048576]f32
--   [64]f32 [64]f32 [64]f32 }

entry main [k][n] (kx: [k]f32) (ky: [k]f32) (kz: [k]f32) (re: [k]f32) (im: [k]f32)
                  (x: [n]f32) (y: [n]f32) (z: [n]f32): ([n]f32, [n]f32) =
  let power = map2 (\a b -> a * a + b * b) re im
  let voxel x y z =
    let wave kx ky kz p =
      let phase = 2 * f32.pi * (kx * x + ky * y + kz * z)
      in (p * f32.cos phase, p * f32.sin phase)
    in reduce (\(a, b) (c, d) -> (a + c, b + d)) (0, 0) (map4 wave kx ky kz power)
  in unzip (map3 voxel x y z)
