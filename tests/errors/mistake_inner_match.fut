type maybe = #some i64 | #none
def add (a: maybe) (b: maybe): maybe =
  match a
  case #some x ->
    match b
    case #some y -> #some (x + y)
    case #none -> #some x
  case #none -> b
