def a (n: i64) = loop s = 0 for i in range(0, n, 2) do s + i
def b (n: i64) = map (+ 1) (range(n))
def c (n: i64) = map (+ 1) range(1, n)
def d (n: i64) = loop s = 0 for i in range(n, 0, -1) do s + i
def e (k: i64) (n: i64) = map (* 2) (arange(k, n, 3))
