entry main (n: i64) = loop acc = 0 for (i = 0; i < n; i++) do acc + i
