"""Codes of programs that fail while they run."""

from __future__ import annotations

from runelift.ir.base.codes.explanation import Explanation

CODES = (
    Explanation(
        "index-out-of-bounds", "an element that the array does not have",
        "The indices of an array of n elements are 0 to n - 1, and a slice i:j has i <= j <= n.  "
        "The message shows the index, the size of that dimension, where in the program the access "
        "is, and through which calls the program came there.  With #[unsafe] a device does not "
        "check an index, and goes on with any value or fails in any way; the interpreter checks "
        "it.",
        wrong="""\
-- ==
-- input { [1, 2, 3] 3i64 } output { 3 }
entry main (xs: []i32) (i: i64): i32 = xs[i]
""", cure="""\
-- ==
-- input { [1, 2, 3] 3i64 } output { 3 }
entry main (xs: []i32) (i: i64): i32 = xs[i - 1]
"""),
    Explanation(
        "broken-promise", "an operator without the laws that are asked for (a warning)",
        "reduce, scan and reduce_by_index split their array anywhere, and begin each part with the "
        "neutral element.  So a program that uses them promises that the operator is associative, "
        "and that the neutral element changes nothing; reduce_comm and reduce_by_index also that "
        "the order does not matter.  A scatter promises that elements with equal indices are "
        "equal.  A program that breaks a promise may have another result on each device.  'check' "
        "warns of operators that are known, 'check --promises' tries random small values, and "
        "'test' looks at the values that the interpreter meets.  Floats may differ by rounding.",
        wrong="""\
entry main (xs: []i32): i32 = reduce (-) 0 xs
""", cure="""\
entry main (xs: []i32): i32 = 0 - reduce (+) 0 xs
"""),
    Explanation(
        "division-by-zero", "an integer divided by zero",
        "Integers have no value for x / 0, nor for the other divisions and remainders.  Floats do: "
        "infinity or NaN.",
        wrong="""\
-- ==
-- input { [3, 0] } output { [4, 0] }
entry main (xs: []i32): []i32 = map (12 /) xs
""", cure="""\
-- ==
-- input { [3, 0] } output { [4, 0] }
entry main (xs: []i32): []i32 = map (\\x -> if x == 0 then 0 else 12 / x) xs
"""),
    Explanation(
        "negative-size", "an array of a negative size",
        "The sizes given to iota, replicate and the like must not be negative.",
        wrong="""\
-- ==
-- input { 2i64 } output { empty([0]i64) }
entry main (n: i64): []i64 = iota (n - 3)
""", cure="""\
-- ==
-- input { 2i64 } output { empty([0]i64) }
entry main (n: i64): []i64 = iota (i64.max 0 (n - 3))
"""),
    Explanation(
        "invalid-windows", "windows that an array does not have",
        "Windows of lift.slide have at least one element, and each is at least one element behind "
        "the last.  An array of n elements has (n - size) / step + 1 of them, which must not be "
        "negative.",
        wrong="""\
-- ==
-- input { [1, 2, 3] 0i64 } output { [6] }
entry main (xs: []i32) (step: i64): []i32 = map i32.sum (lift.slide 3 step xs)
""", cure="""\
-- ==
-- input { [1, 2, 3] 0i64 } output { [6] }
entry main (xs: []i32) (step: i64): []i32 = map i32.sum (lift.slide 3 (i64.max 1 step) xs)
"""),
    Explanation(
        "unequal-sizes", "sizes that differ while the program runs",
        "A coercion e :> [n]t says that an array has a size which the compiler cannot prove; the "
        "same is said by an update of a slice and by operations on arrays whose sizes only the "
        "running program knows.  It did not have that size.",
        wrong="""\
-- ==
-- input { [1, -2, 3] } output { 4 }
entry main [n] (xs: [n]i32): i32 =
  let positive = filter (> 0) xs :> [n]i32
  in i32.sum (map2 i32.max positive xs)
""", cure="""\
-- ==
-- input { [1, -2, 3] } output { 4 }
entry main [n] (xs: [n]i32): i32 =
  let positive = map (i32.max 0) xs
  in i32.sum (map2 i32.max positive xs)
"""),
    Explanation(
        "assertion-failed", "the condition of an assert is false",
        "assert c e is e if the condition c holds.  The message shows the condition as it is "
        "written.  Either the program is wrong, or it was given data that it does not expect.  "
        "It is checked even if nothing uses the value of e, where Futhark may leave it out.",
        wrong="""\
-- ==
-- input { empty([0]f64) } output { 0f64 }
entry main [n] (xs: [n]f64): f64 = assert (n > 0) (f64.sum xs / f64.i64 n)
""", cure="""\
-- ==
-- input { empty([0]f64) } output { 0f64 }
entry main [n] (xs: [n]f64): f64 = if n > 0 then f64.sum xs / f64.i64 n else 0
"""),
    Explanation(
        "recursion-depth", "a function that has called itself too often without a result",
        "10,000 calls of a function can be inside of each other.  Perhaps a case is missing that "
        "ends the recursion, or an argument does not come closer to it.  Calls at the end of a "
        "function are a loop, and have no limit: a parameter can carry the result so far.",
        wrong="""\
-- ==
-- input { 20000i64 } output { 200010000i64 }
def total (n: i64): i64 = if n == 0 then 0 else n + total (n - 1)

entry main (n: i64): i64 = total n
""", cure="""\
-- ==
-- input { 20000i64 } output { 200010000i64 }
def total (n: i64) (sum: i64): i64 = if n == 0 then sum else total (n - 1) (sum + n)

entry main (n: i64): i64 = total n 0
"""),
    Explanation(
        "bound-too-small", "a loop that goes on behind its #[bound]",
        "A while loop with the attribute #[bound(n)] has at most n iterations in reverse mode, so "
        "that the memory for its tape is known before it runs.  It did not come to its end within "
        "n.  Take a larger number; without the attribute the loop runs once more for its count.",
        wrong="""\
-- ==
-- input { 1.5 } output { 192.0 }
def f (x: f64): f64 = #[bound(5)] loop y = x while y < 100 do 2 * y

entry main (x: f64): f64 = vjp f x 3
""", cure="""\
-- ==
-- input { 1.5 } output { 384.0 }
def f (x: f64): f64 = #[bound(10)] loop y = x while y < 100 do 2 * y

entry main (x: f64): f64 = vjp f x 3
"""),
)
