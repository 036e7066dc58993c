type option = #some i32 | #none
def f (x: option): i32 = let #some y = x in y
