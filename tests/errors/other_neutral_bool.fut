entry main [n] (xs: [n]bool): bool = reduce (&&) 1 xs
