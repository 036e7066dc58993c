type point = {x: f32, y: f32}
entry main (a: f32) = point a a
