def main (x: i32) = let (a b) = (x, 1) in a
