def f (p: {x: i32, y: i32}): i32 = let {x = a} = p in a
