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
