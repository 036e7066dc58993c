type color = #red | #green
def f (c: color): i32 = match c case #red -> 1 case #gren -> 2
