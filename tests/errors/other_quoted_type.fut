def f 'a (x: 'a): a = x
entry main (x: i32): i32 = f x
