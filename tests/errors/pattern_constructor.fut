type t = #a i32 | #b
def f (x: t): i32 = match x case #a -> 1 case #b -> 2
