def main (x: i64) = 2.5 * x
