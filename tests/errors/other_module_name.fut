module m = {
  def f (x: i32): i32 = x
}
entry main (x: i32): i32 = f x
