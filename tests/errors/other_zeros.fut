entry main (n: i64): [n][n]f64 = zeros(n, n)
