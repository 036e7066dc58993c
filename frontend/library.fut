-- The built-in functions that the language itself can express.  A program that uses one of these
-- names, and does not define it, gets the definition in front of its own.

def rep 'a [n] (x: a): *[n]a = replicate n x

def foldl 'a 'b [n] (f: b -> a -> b) (start: b) (xs: [n]a): b =
  loop acc = start for x in xs do f acc x

def foldr 'a 'b [n] (f: a -> b -> b) (start: b) (xs: [n]a): b =
  loop acc = start for x in reverse xs do f x acc

def iterate 'a (n: i32) (f: a -> a) (start: a): a =
  loop x = start for _i < n do f x

def iterate_while 'a (p: a -> bool) (f: a -> a) (start: a): a =
  loop x = start while p x do f x

def iterate_until 'a (p: a -> bool) (f: a -> a) (start: a): a =
  loop x = start while !(p x) do f x

def reduce_by_index_2d 'a [k] [n] [m] (dest: *[k][m]a) (f: a -> a -> a) (neutral: a)
                                      (places: [n](i64, i64)) (values: [n]a): *[k][m]a =
  let flat = map (\(i, j) -> if 0 <= i && i < k && 0 <= j && j < m then i * m + j else -1) places
  in unflatten (reduce_by_index (flatten dest) f neutral flat values :> [k * m]a)

def reduce_by_index_3d 'a [k] [n] [m] [l] (dest: *[k][m][l]a) (f: a -> a -> a) (neutral: a)
                                          (places: [n](i64, i64, i64)) (values: [n]a)
                                        : *[k][m][l]a =
  let inside (i, j, h) = 0 <= i && i < k && 0 <= j && j < m && 0 <= h && h < l
  let flat = map (\(i, j, h) -> if inside (i, j, h) then (i * m + j) * l + h else -1) places
  in unflatten_3d (reduce_by_index (flatten_3d dest) f neutral flat values :> [k * m * l]a)

-- Slices of a flat array that take as many steps as they have dimensions: element [i, j] of the
-- first is element offset + i * s1 + j * s2.
module intrinsics = {
  def flat_index_2d 'a [n] (xs: [n]a) (offset: i64) (n1: i64) (s1: i64) (n2: i64) (s2: i64)
                         : *[n1][n2]a =
    tabulate_2d n1 n2 (\i j -> xs[offset + i * s1 + j * s2])

  def flat_index_3d 'a [n] (xs: [n]a) (offset: i64) (n1: i64) (s1: i64) (n2: i64) (s2: i64)
                         (n3: i64) (s3: i64): *[n1][n2][n3]a =
    tabulate_3d n1 n2 n3 (\i j k -> xs[offset + i * s1 + j * s2 + k * s3])

  def flat_index_4d 'a [n] (xs: [n]a) (offset: i64) (n1: i64) (s1: i64) (n2: i64) (s2: i64)
                         (n3: i64) (s3: i64) (n4: i64) (s4: i64): *[n1][n2][n3][n4]a =
    tabulate_3d n1 n2 n3 (\i j k ->
      tabulate n4 (\l -> xs[offset + i * s1 + j * s2 + k * s3 + l * s4]))

  def flat_update_2d 'a [n] [k] [l] (xs: *[n]a) (offset: i64) (s1: i64) (s2: i64)
                                  (values: [k][l]a): *[n]a =
    let places = tabulate_2d k l (\i j -> (indices xs)[offset + i * s1 + j * s2])
    in scatter xs (flatten places) (flatten values)

  def flat_update_3d 'a [n] [k] [l] [m] (xs: *[n]a) (offset: i64) (s1: i64) (s2: i64) (s3: i64)
                                      (values: [k][l][m]a): *[n]a =
    let places = tabulate_3d k l m (\i j h -> (indices xs)[offset + i * s1 + j * s2 + h * s3])
    in scatter xs (flatten_3d places) (flatten_3d values)

  def flat_update_4d 'a [n] [k] [l] [m] [o] (xs: *[n]a) (offset: i64) (s1: i64) (s2: i64)
                                          (s3: i64) (s4: i64) (values: [k][l][m][o]a): *[n]a =
    let places = tabulate_3d k l m (\i j h ->
      tabulate o (\g -> (indices xs)[offset + i * s1 + j * s2 + h * s3 + g * s4]))
    in scatter xs (flatten_4d places) (flatten_4d values)
}

-- Layouts: windows, margins, tiles and orders of dimensions, which are only looked at.
module lift = {
  def split 'a [n] (m: i64) (xs: [n]a): [n / m][m]a = unflatten (xs :> [n / m * m]a)

  def split_nd_2 'a [n] (m: i64) (k: i64) (xs: [n]a): [n / k / m][m][k]a =
    lift.split m (lift.split k xs)

  def split_nd_3 'a [n] (m: i64) (k: i64) (l: i64) (xs: [n]a): [n / l / k / m][m][k][l]a =
    lift.split m (lift.split k (lift.split l xs))

  def slide2d 'a [n] [m] (size1: i64) (step1: i64) (size2: i64) (step2: i64) (xss: [n][m]a)
                       : [(n - size1) / step1 + 1][(m - size2) / step2 + 1][size1][size2]a =
    map transpose (lift.slide size1 step1 (map (lift.slide size2 step2) xss))

  def pad2d 'a [n] [m] (top: i64) (bottom: i64) (left: i64) (right: i64) (value: a)
                       (xss: [n][m]a): [top + n + bottom][left + m + right]a =
    let rows = map (lift.pad left right value) xss
    in transpose (map (lift.pad top bottom value) (transpose rows))
}

def exscan 'a [n] (op: a -> a -> a) (neutral: a) (xs: [n]a): *[n]a =
  scatter (replicate n neutral) (map (+ 1) (iota n)) (scan op neutral xs)

def sized 'a [m] (n: i64) (xs: [m]a): [n]a = xs :> [n]a

def split 'a [n] [m] (xs: [n + m]a): ([n]a, [m]a) = (xs[:n], xs[n:] :> [m]a)

def spread 'a [n] (k: i64) (x: a) (places: [n]i64) (values: [n]a): *[k]a =
  scatter (replicate k x) places values

def r32 (x: i32): f32 = f32.i32 x

def t32 (x: f32): i32 = i32.f32 x

def r64 (x: i32): f64 = f64.i32 x

def t64 (x: f64): i32 = i32.f64 x
