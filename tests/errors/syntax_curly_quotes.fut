def greeting = “hello”
