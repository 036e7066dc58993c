-- Gravitational n-body: all pairs, one Euler step per iteration.
--
-- What to look at: arrays of records become one array per field; the inner redomap has three
-- results, and its inputs are the same for all bodies (which is what tiling uses).
-- ==
-- entry: main
-- input { 1 0.1f32 [0f32, 1f32] [0f32, 0f32] [0f32, 0f32]
--         [0f32, 0f32] [0f32, 0f32] [0f32, 0f32] [1f32, 1f32] }
-- auto output
-- random input { 2 0.01f32 [20]f32 [20]f32 [20]f32 [20]f32 [20]f32 [20]f32 [20]f32 }
-- auto output
-- "1000" notest random input { 1 0.01f32 [1000]f32 [1000]f32 [1000]f32
--   [1000]f32 [1000]f32 [1000]f32 [1000]f32 }
-- "10000" notest random input { 1 0.01f32 [10000]f32 [10000]f32 [10000]f32
--   [10000]f32 [10000]f32 [10000]f32 [10000]f32 }

type vector = {x: f32, y: f32, z: f32}
type body = {position: vector, velocity: vector, mass: f32}

def add (a: vector) (b: vector): vector = {x = a.x + b.x, y = a.y + b.y, z = a.z + b.z}
def sub (a: vector) (b: vector): vector = {x = a.x - b.x, y = a.y - b.y, z = a.z - b.z}
def scale (k: f32) (a: vector): vector = {x = k * a.x, y = k * a.y, z = k * a.z}
def dot (a: vector) (b: vector): f32 = a.x * b.x + a.y * b.y + a.z * b.z
def zero: vector = {x = 0, y = 0, z = 0}

-- Softened, so that a body exerts no force on itself.
def acceleration (a: body) (b: body): vector =
  let d = sub b.position a.position
  let r2 = dot d d + 50f32 ** 2
  let inverse = 1 / f32.sqrt r2
  in scale (b.mass * inverse * inverse * inverse) d

def step [n] (dt: f32) (bodies: [n]body): [n]body =
  map (\a ->
         let force = reduce add zero (map (acceleration a) bodies)
         let velocity = add a.velocity (scale dt force)
         in {position = add a.position (scale dt velocity), velocity, mass = a.mass})
      bodies

entry main [n] (steps: i32) (dt: f32)
               (xs: [n]f32) (ys: [n]f32) (zs: [n]f32)
               (us: [n]f32) (vs: [n]f32) (ws: [n]f32) (masses: [n]f32)
             : ([n]f32, [n]f32, [n]f32, [n]f32, [n]f32, [n]f32) =
  let bodies = map3 (\(x, y, z) (u, v, w) mass ->
                       {position = {x, y, z}, velocity = {x = u, y = v, z = w}, mass})
                    (zip3 xs ys zs) (zip3 us vs ws) masses
  let bodies = loop bodies for _i < steps do step dt bodies
  let (xs, ys, zs) = unzip3 (map (\b -> (b.position.x, b.position.y, b.position.z)) bodies)
  let (us, vs, ws) = unzip3 (map (\b -> (b.velocity.x, b.velocity.y, b.velocity.z)) bodies)
  in (xs, ys, zs, us, vs, ws)
