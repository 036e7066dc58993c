def hash [n] (word: [n]u8) = loop h = 2166136261i32 for c in word do (h ^ u32.u8 c) * 16777619
def low (x: i32) = (x, -128i8 + x)
def most (x: u32) = x + 99999999999999999999i64
