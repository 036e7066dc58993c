type system [n] = {a: [n][n]f64, b: [n]f64}
type pair 'a = (a, a)
type grid [h][w] = [h][w]f32
def scaled [n] (k: f64) (s: system): system [n] = s with b = map (* k) s.b
def other [k] (s: system) (xs: [k]f64) = s.a
def free (s: system) = s.b
def two [h][w] (g: grid): [h][w]f32 = g
def swap (p: pair): pair i32 = p
