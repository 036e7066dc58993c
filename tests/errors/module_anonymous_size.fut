module type summing = { val sum: []i32 -> i32 }
