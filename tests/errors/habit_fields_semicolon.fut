type t = {x: i32; y: i32}
entry main (p: t) = p.x
