entry floats [n] (is: [n]i64) (vs: [n]f32): [8]f32 = hist (+) 8 is vs
entry counts [n] (is: [n]u8): [256]i64 = hist (+) 256 (map i64.u8 is) (map (\_ -> 1i64) is)
entry named [n] (k: i64) (is: [n]i64) (vs: [n]i64): [k]i64 = hist i64.max k is vs
entry updated [n] [k] (d: *[k]f32) (is: [n]i64) (vs: [n]f32) = reduce_by_index d (+) is vs
entry mapped [n] (vs: [n]f32): f32 = reduce (+) (map (* 2) vs)
entry scanned [n] (vs: [n]f32): [n]f32 = scan f32.max vs
entry of_zero [n] (is: [n]i64) (vs: [n]i64): []i64 = hist (+) 0 is vs
entry of_lowest [n] (is: [n]i64) (vs: [n]i64): []i64 = hist i64.max i64.lowest is vs
