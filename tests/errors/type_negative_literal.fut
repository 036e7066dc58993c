def f: u8 = -1
