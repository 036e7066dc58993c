def f p = p.x
entry main (x: i32): i32 = f {x = x}
