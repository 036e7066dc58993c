def total (values: []i32): i32 = redcue (+) 0 values
