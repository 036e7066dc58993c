-- The rows of an array have one size; here each has its own.
entry triangle (n: i64): [][]i64 = map iota (iota n)

def kept 'a (f: i64 -> a): a = (tabulate 3 f)[2]

def table [n] (f: i64 -> i32) (xs: [n]i64) (width: i64): [n][width]i32 =
  map (\x -> tabulate width (\j -> f (x + j))) xs

entry last (xs: []i64): [][]i32 = kept (table i32.i64 xs)
