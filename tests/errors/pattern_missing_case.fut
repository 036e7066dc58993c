type color = #red | #green | #blue
def f (c: color): i32 = match c case #red -> 1 case #green -> 2
