def swap (x: a, y: b): (b, a) = (y, x)
