-- The temperature of a chip from the power its cells draw: explicit steps of the heat equation
-- on a grid (Huang et al. 2006).
--
-- What to look at: one stencil of five points per iteration; on small chips the launches cost
-- more than the work.
-- ==
-- input { 3 [[320f32, 330f32], [325f32, 340f32]] [[0f32, 0.01f32], [0.02f32, 0f32]] }
-- output { [[319.95203f32, 329.95f32], [324.95102f32, 339.94797f32]] }
-- input { 2 [[300f32, 310f32, 320f32]] [[0.5f32, 0f32, 1f32]] }
-- output { [[299.9707f32, 309.96933f32, 319.968f32]] }
-- random input { 3 [7][33]f32 [7][33]f32 }
-- auto output
-- "64" notest random input { 360 [64][64]f32 [64][64]f32 }
-- "512" notest random input { 360 [512][512]f32 [512][512]f32 }
-- "1024" notest random input { 360 [1024][1024]f32 [1024][1024]f32 }

-- Physical constants: a chip of silicon, 16 mm on a side and half a millimetre thick.
def chip_height = 0.016f32
def chip_width = 0.016f32
def chip_thickness = 0.0005f32
def ambient = 80f32
def conductivity = 100f32
def specific_heat = 1.75e6f32
def capacitance_fit = 0.5f32
def max_power_density = 3.0e6f32
def precision = 0.001f32

-- The step in time and the conductances, over the heat capacity of a cell.
def coefficients (m: i64) (n: i64): {power: f32, x: f32, y: f32, z: f32} =
  let height = chip_height / f32.i64 m
  let width = chip_width / f32.i64 n
  let capacity = capacitance_fit * specific_heat * chip_thickness * width * height
  let max_slope = max_power_density / (capacitance_fit * chip_thickness * specific_heat)
  let step = precision / max_slope / capacity
  let rx = width / (2 * conductivity * chip_thickness * height)
  let ry = height / (2 * conductivity * chip_thickness * width)
  let rz = chip_thickness / (conductivity * height * width)
  in {power = step, x = step / rx, y = step / ry, z = step / rz}

def step [m][n] (power: [m][n]f32) (temperature: [m][n]f32): [m][n]f32 =
  let k = coefficients m n
  let at i j = temperature[i64.max 0 (i64.min (m - 1) i), i64.max 0 (i64.min (n - 1) j)]
  in tabulate_2d m n (\i j ->
       let t = temperature[i, j]
       in t + k.power * power[i, j]
          + k.y * (at (i - 1) j + at (i + 1) j - 2 * t)
          + k.x * (at i (j - 1) + at i (j + 1) - 2 * t)
          + k.z * (ambient - t))

entry main [m][n] (iterations: i32) (temperature: [m][n]f32) (power: [m][n]f32): [m][n]f32 =
  loop temperature for _i < iterations do step power temperature
