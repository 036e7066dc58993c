f :: f32 -> f32
def f (x: f32): f32 = x
entry main (x: f32): f32 = f x
