entry main [n] (xs: [n]u32): u32 =
  loop (acc = 0u32) for x in xs do
    acc * 31 + x
