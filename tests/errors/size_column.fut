def first [n][m] (table: [n][m]f64): [n]f64 = table[:][0]
