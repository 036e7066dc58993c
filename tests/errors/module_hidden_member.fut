module type counter = { val next: i32 -> i32 }
module c: counter = { def step = 1i32 def next (x: i32) = x + step }
def f: i32 = c.step
