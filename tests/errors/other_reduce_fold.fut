entry above [n] (limit: f32) (xs: [n]f32): i64 =
  let count (c: i64) (x: f32): i64 = if x > limit then c + 1 else c
  in reduce count 0 xs
