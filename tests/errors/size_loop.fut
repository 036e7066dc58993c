def f [n] (xs: [n]i32): [n]i32 = loop ys = xs for i < 3i64 do concat ys [0]
