type colour = #red | #green
def f (c: colour): i32 = match c case #red -> 1 case #green -> 2
entry main (x: i32): i32 = f red
