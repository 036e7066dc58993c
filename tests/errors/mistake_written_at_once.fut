def cells [k] (n: i64) (hits: [k]i64) =
  let flags = replicate n false
  let _ = map (\h -> flags with [h] = true) hits
  in flags
