def f (x: u8): u8 = x + 256
