-- Speckle-reducing anisotropic diffusion of images (Yu and Acton 2002), a batch at a time.
--
-- What to look at: a reduction over the image and two stencils per iteration; with many small
-- images a work-group per image wins, with one large image the flat version does.
-- ==
-- input { 2 [[[10u8, 20u8], [30u8, 40u8]]] }
-- auto output
-- random input { 3 [2][9][7]u8 }
-- auto output
-- "one" notest random input { 50 [1][512][512]u8 }
-- "many" notest random input { 50 [1024][16][16]u8 }

def srad [m][n] (iterations: i32) (image: [m][n]u8): [m][n]u8 =
  let lambda = 0.5f32
  let size = f32.i64 (m * n)
  let start = map (map (\p -> f32.exp (f32.u8 p / 255))) image
  let final =
    loop img = start for _i < iterations do
      let sum = f32.sum (flatten img)
      let squares = f32.sum (map (\x -> x * x) (flatten img))
      let mean = sum / size
      let variance = squares / size - mean * mean
      let q0 = variance / (mean * mean)
      let at i j = img[i64.max 0 (i64.min (m - 1) i), i64.max 0 (i64.min (n - 1) j)]
      let coefficients =
        tabulate_2d m n (\i j ->
          let x = img[i, j]
          let north = at (i - 1) j - x
          let south = at (i + 1) j - x
          let west = at i (j - 1) - x
          let east = at i (j + 1) - x
          let g2 = (north * north + south * south + west * west + east * east) / (x * x)
          let l = (north + south + west + east) / x
          let num = 0.5 * g2 - 1 / 16 * l * l
          let den = 1 + 0.25 * l
          let q = num / (den * den)
          let c = 1 / (1 + (q - q0) / (q0 * (1 + q0)))
          in f32.max 0 (f32.min 1 c))
      in tabulate_2d m n (\i j ->
           let x = img[i, j]
           let c = coefficients[i, j]
           let cs = coefficients[i64.min (m - 1) (i + 1), j]
           let ce = coefficients[i, i64.min (n - 1) (j + 1)]
           let north = at (i - 1) j - x
           let south = at (i + 1) j - x
           let west = at i (j - 1) - x
           let east = at i (j + 1) - x
           in x + 0.25 * lambda * (c * north + cs * south + c * west + ce * east))
  in map (map (\x -> u8.f32 (f32.log x * 255))) final

entry main [b][m][n] (iterations: i32) (images: [b][m][n]u8): [b][m][n]u8 =
  map (srad iterations) images
