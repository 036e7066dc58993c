def lower [n] (keys: [n]f32) (q: f32): i64 =
  let go (lo: i64) (hi: i64): i64 =
    if lo >= hi then lo
    else let mid = (lo + hi) / 2
         in if keys[mid] < q then go (mid + 1) hi else go lo mid
  in go 0 n
def unrelated (x: i32): i32 =
  let twice (y: i32) = y + y
  in let z = 1 in thrice (x + z)
