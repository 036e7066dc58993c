def main (xs: [i32]) = length xs
