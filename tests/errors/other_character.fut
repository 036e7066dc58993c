entry main (c: u8): bool = c == "a"
