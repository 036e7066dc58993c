def part [n] (xs: [n]i32) (i: i64) = xs[i..<i + 3]
def closed [n] (xs: [n]i32) = xs[0...4]
def stepped [n] (xs: [n]i32) = xs[0..2..<n]
def back [n] (xs: [n]i32) = xs[n - 1..n - 2..>0]
