def main (x: i32) = x != 1 and x != 2
