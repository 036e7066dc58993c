type point = (x: i32, y: i32)
