def f (x: f32): f32 {
  x * x
}
entry main (x: f32): f32 = f x
