type shape = #rect f32 f32 | #dot
def area (s: shape): f32 = match s case #rect (a, b) -> a * b case #dot -> 0
def round (s: shape): f32 = match s case Rect r -> r case #dot -> 0
type maybe = #none | #some i32
def value (m: maybe): i32 = match m case #some x -> x, case #none -> 0
def other (m: maybe): i32 = match m
  case #some x -> x
  else -> 0
module M : {
  def one = 1i32
}
