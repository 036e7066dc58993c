def names = ["red", "green", "blue"]
def rows = [[1, 2], [3]]
def escaped = ["a\n", "bcd"]
