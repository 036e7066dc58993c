type option = #some i32 | #none
def f (o: option): i32 =
  match o
  case some y -> y
  case #none -> 0
entry main (x: i32): i32 = f (#some x)
