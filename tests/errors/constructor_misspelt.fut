type cmd = #left i32 | #stop
def move (x: i32) (c: cmd): i32 = match c case #left k -> x - k case #stop -> x
def moved (x: i32): i32 = move x (#Left 2)
def made (x: i32): cmd = #lef x
def stopped (x: i32): i32 = move x #STOP
def unlike (x: i32): i32 = move x #jump
def left (c: cmd): i32 = match c case #Left k -> k case #stop -> 0
