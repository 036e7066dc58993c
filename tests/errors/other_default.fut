entry main (x: i32): i32 =
  match x
  case 0 -> 1
  default -> 2
