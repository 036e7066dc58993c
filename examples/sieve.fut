-- The primes up to a number, by the sieve of Eratosthenes.
--
-- What to look at: small primes have many multiples and large ones few.  All multiples of all primes
-- are crossed out at once; the primes that are needed for that are found before.
-- ==
-- entry: by_hand
-- input { 30i64 } output { [2i64, 3i64, 5i64, 7i64, 11i64, 13i64, 17i64, 19i64, 23i64, 29i64] }
-- input { 1i64 } output { empty([0]i64) }
-- input { 1000i64 } auto output
-- "small" notest input { 100000i64 }
-- "large" notest input { 10000000i64 }

import "lib/segments"

-- The primes up to n, from those up to its root; n is less than the next square.
def larger (n: i64) (primes: []i64): []i64 =
  let multiples = map (\p -> i64.max 0 (n / p - 1)) primes
  let crossed = map (\(i, j) -> primes[i] * (j + 2)) (expand multiples)
  let kept = scatter (replicate (n + 1) true) crossed (map (const false) crossed)
  in filter (\i -> kept[i]) (2...n)

entry by_hand (n: i64): []i64 =
  if n < 2 then [] else
    (loop (primes, limit) = ([], 1) while limit < n do
       let next = i64.min n ((limit + 1) * (limit + 1) - 1)
       in (larger next primes, next)).0

-- The primes up to the root come first, by recursion.
def primes (n: i64): []i64 =
  if n < 2 then [] else
    let (_, _, _, crossed) =
      flatmap' (\p -> map (\j -> p * (j + 2)) (iota (n / p - 1)))
               (primes (i64.f64 (f64.sqrt (f64.i64 n))))
    let kept = scatter (replicate (n + 1) true) crossed (map (const false) crossed)
    in filter (\i -> kept[i]) (2...n)

-- ==
-- entry: main
-- input { 30i64 } output { [2i64, 3i64, 5i64, 7i64, 11i64, 13i64, 17i64, 19i64, 23i64, 29i64] }
-- input { 1i64 } output { empty([0]i64) }
-- input { 1000i64 } auto output
entry main (n: i64): []i64 = primes n
