module pair (m: numeric) = { def both (x: m.t) = (x, x) }
open pair
