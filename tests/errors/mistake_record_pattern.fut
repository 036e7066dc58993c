entry record (x: f32): f32 =
  let {u, v} = (x, x)
  in u + v
def g f = let {a, b} = f 1i32 in a + b
entry h (x: i32) = g (\y -> {a = y, b = x})
def k {a: i32, b: i32} = a + b
entry l (xs: []i32) = map (\{a, b} -> a + b) (map (\x -> {a = x, b = 1i32}) xs)
entry m (x: i32) = let ({} : {}) = {} in x
