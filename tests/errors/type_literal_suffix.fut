def f = 300i8
