def total (values: []i32): i32 = reduce (+) 0 valeus
