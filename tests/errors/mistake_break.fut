def heron (x: f64): f64 =
  loop g = x for _i < 100i32 do
    if f64.abs (g * g - x) < 1e-9 then break else (g + x / g) / 2
