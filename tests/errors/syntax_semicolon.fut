def f (x: i32): i32 =
  let y = x * 2;
  in y
