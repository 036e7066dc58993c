module pair (m: numeric) = { def both (x: m.t) = (x, x) }
module quad = pair pair
