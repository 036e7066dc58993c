def right [n] (xs: [n]i32) = map (f64.i32 <-< f64.abs <-< f64.sqrt) xs
def left [n] (xs: [n]i32) = map (f64.abs >-> f64.i32) xs
def neither [n] (xs: [n]i32) = map (f64.sqrt <-< u8.i8) xs
