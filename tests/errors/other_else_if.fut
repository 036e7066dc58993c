entry main (x: f32): f32 =
  if x > 0 then x
  elseif x < 0 then -x
  else 0
