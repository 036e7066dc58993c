entry main (k: i64): []i64 = map (* k) (1:10)

entry evens (k: i64): []i64 = map (* k) (0:2:20)

entry below (n: i64): []i64 = map (+ 1) (0:n-1)
