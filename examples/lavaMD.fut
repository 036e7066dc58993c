-- Forces between particles in boxes of a grid: each particle feels those of its own box and of
-- the boxes around it (Szafaryn et al. 2010).
--
-- What to look at: a redomap with four results in a sequential loop over the boxes around; how
-- many there are depends on the place, so some of the work is guarded.
-- ==
-- input { 1i64 0.5f32 [[0.6f32, 0.8f32]] [[0f32, 0.8f32]] [[0.4f32, 0.5f32]] [[0.6f32, 0.2f32]]
--   [[0.9f32, 0f32]] }
-- output { [[0.6405933f32, 0.5244734f32]] [[0f32, 0.83915746f32]] [[0f32, 0.104894675f32]]
--   [[0f32, -0.41957876f32]] }
-- random input { 2i64 0.5f32 [8][5]f32 [8][5]f32 [8][5]f32 [8][5]f32 [8][5]f32 }
-- auto output
-- "few" notest random input { 3i64 0.5f32 [27][100]f32 [27][100]f32 [27][100]f32 [27][100]f32
--   [27][100]f32 }
-- "many" notest random input { 10i64 0.5f32 [1000][100]f32 [1000][100]f32 [1000][100]f32
--   [1000][100]f32 [1000][100]f32 }
-- "crowded" notest random input { 2i64 0.5f32 [8][4096]f32 [8][4096]f32 [8][4096]f32 [8][4096]f32
--   [8][4096]f32 }

type vector = {v: f32, x: f32, y: f32, z: f32}

def zero: vector = {v = 0, x = 0, y = 0, z = 0}
def add (a: vector) (b: vector): vector =
  {v = a.v + b.v, x = a.x + b.x, y = a.y + b.y, z = a.z + b.z}

-- What a particle at `b` with a charge does to one at `a`.
def force (alpha: f32) (a: vector) (b: vector) (charge: f32): vector =
  let r2 = a.v + b.v - (a.x * b.x + a.y * b.y + a.z * b.z)
  let u = f32.exp (-2 * alpha * alpha * r2)
  let s = 2 * charge * u
  in {v = charge * u, x = s * (a.x - b.x), y = s * (a.y - b.y), z = s * (a.z - b.z)}

entry main [p] (side: i64) (alpha: f32)
               (vs: [side * side * side][p]f32) (xs: [side * side * side][p]f32)
               (ys: [side * side * side][p]f32) (zs: [side * side * side][p]f32)
               (charges: [side * side * side][p]f32)
             : ([side * side * side][p]f32, [side * side * side][p]f32,
                [side * side * side][p]f32, [side * side * side][p]f32) =
  let particles = map4 (map4 (\v x y z: vector -> {v, x, y, z})) vs xs ys zs
  let home box =
    let (k, j, i) = (box / (side * side), box / side % side, box % side)
    in map (\a ->
              loop total = zero for n < 27 do
                let (z, y, x) = (k + n / 9 - 1, j + n / 3 % 3 - 1, i + n % 3 - 1)
                in if z >= 0 && z < side && y >= 0 && y < side && x >= 0 && x < side
                   then let near = (z * side + y) * side + x
                        in add total
                               (reduce add zero
                                       (map2 (force alpha a) particles[near] charges[near]))
                   else total)
           particles[box]
  let forces = map home (iota (side * side * side))
  let part f = map (map f) forces
  in (part (.v), part (.x), part (.y), part (.z))
