openM

xs = [1, 2, 3]

def three: i32 = 3

square x = x * x

moduleM = {}
