-- The function is made before the array that decides about the size of its parameter.
def counted [n] (f: [n]i32 -> i32): [n]i32 -> i32 = \xs -> f xs + i32.i64 n

entry main (xs: []i32): i32 = counted (\_ -> 0) <| filter (> 0) xs
