entry series (q: f64): f64 =
  let (s, _) =
    loop (s, t) = (0i64, 1) while t > 1e-10 do
      (s + t, t * q)
  in s

entry by_literal (n: i32): f64 =
  (loop (s, t) = (0i64, 1i64) for _i < n do (s, t * 0.5)).1

entry of_parameter (k: i64) (q: f64): f64 =
  (loop (s, t) = (k, 1) while t > 1e-10 do (s + t, t * q)).1

entry single (q: f32) (n: i32): f32 = loop s = 1i32 for _i < n do s * q
