module pair (m: numeric) = { def both (x: m.t) = (x, x) }
def f (x: i32) = pair.both x
