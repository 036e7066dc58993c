entry flags [n] (xs: [n]u32) = map (\x -> u32.popc x % 2 == 1 & x != 0) xs
entry between [n] (xs: [n]i32) (lo: i32) (hi: i32) = map (\x -> lo <= x & x < hi) xs
entry mixed (lo: i64) (x: i32) (hi: i32): bool = i32.i64 lo < x & x < hi
entry two (a: i32) (b: i64): bool = a == 1 & b != 0
entry float (a: i32) (b: f64): bool = a == 1 | b != 0
entry chosen (a: i32) (b: f64): i32 = if a > 1 & b > 0 then 1 else 0
entry masked (a: u32) (b: i32): bool = b == a & 1
entry with_bool (a: u32) (p: bool): bool = a == 1 & p
