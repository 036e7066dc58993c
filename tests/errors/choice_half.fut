def relu (x: f32): f32 =
  if x > 0 then x

def named (x: f32): f32 =
  let y = if x > 0 then x
  in y

def last (x: f32): f32 =
  if x > 0 then x
