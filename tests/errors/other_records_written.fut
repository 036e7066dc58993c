type point = {x: f32, mass: f32}
def sum (p: point): f32 = x p + p.mass
def moved (p: point): point = p {x = 1}
def fields [n] (ps: [n]Point): [n]f32 = map .x ps
def masses [n] (ps: [n]point): [n]f32 = map mass ps
def both (p: point): point = p with x = 1, mass = 2
def origin: point = {.x = 0, .mass = 0}
def half (x: f32) (y: f32) = {x, y * 2}
type pair = {a = f32, b: f32}
