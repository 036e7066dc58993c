def f (x: i32): i32 =
  let y = (let z = x + 1 in z * 2)
  in y + z
