def join (a: i32, b: i32) (c: i32, d: i32) = (a + c, b + d)
def f [n] (xs: [n](i32, i32)) = reduce join 0 xs
def g [n] (xs: [n](i32, i32)) = xs |> reduce join i32.lowest
def h [n] (xs: [n]{x: f32, y: f32}) = reduce (\a b -> {x = a.x + b.x, y = a.y + b.y}) 0 xs
