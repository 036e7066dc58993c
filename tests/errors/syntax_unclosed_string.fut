def greeting = "hello
