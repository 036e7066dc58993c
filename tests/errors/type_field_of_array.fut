def f (ps: []{x: f32, y: f32}): []f32 = ps.x
