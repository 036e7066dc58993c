module outer = { module inner = { def one = 1i32 } }
def a = outer.one
def b = lift.window 3 1 [1, 2, 3, 4]
module taken = { include outer def two = 2i32 }
module type sized = { val size = i64 }
type vec [n] = [n]f32
def c [n] (v: vec n): f32 = v[0]
def d (x: i32): i32 = [unroll] loop y = x for i < 3 do y + 1
def e = map (\(x: i32) -> i32: x + 1) [1, 2]
