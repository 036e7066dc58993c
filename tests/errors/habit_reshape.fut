entry main (n: i64) (m: i64) = reshape n m (iota (n*m))
