"""Functions that call themselves, on the interpreter and on a device, beside models in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.frontend.load import checked
from runelift.ir.base import failures
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source
from tests.codegen import harness

PROGRAM = """\
def fib (n: i64): i64 = if n < 2 then n else fib (n - 1) + fib (n - 2)
def total [n] (xs: [n]i64): i64 =
  if n == 0 then 0 else if n == 1 then xs[0] else
  let half = n / 2 in total xs[:half] + total xs[half:]
def ackermann (m: i64) (n: i64): i64 =
  if m == 0 then n + 1 else if n == 0 then ackermann (m - 1) 1
  else ackermann (m - 1) (ackermann m (n - 1))
def down (n: i64): [n]i64 = if n == 0 then [] :> [n]i64 else ([n] ++ down (n - 1)) :> [n]i64
def binary (n: i64): []i64 = if n < 2 then [n] else binary (n / 2) ++ [n % 2]
def twice 'a (n: i64) (f: a -> a) (x: a): a = if n == 0 then x else f (twice (n - 1) f (f x))
def scale = [3i64, 5]
def tree (n: i64): i64 = if n <= 0 then scale[1] else scale[0] + i64.sum (map tree (iota n))
def depth (n: i64): i64 =
  if n == 0 then 0 else loop d = 0 for i < 3 do i64.max d (1 + depth (n / 2 - i / 2 |> i64.max 0))
def folded (n: i64): i64 =
  if n < 2 then n else reduce (\\a b -> if a > 9 then folded (a / 4) + b else a + b) 0 (iota n)
type shape = #leaf i64 | #pair (i64, i64)
def shape_of (n: i64): shape =
  if n < 3 then #leaf n else match shape_of (n - 2) case #leaf k -> #pair (k, n)
                                                   case #pair (a, b) -> #leaf (a + b + n)
def split (n: i64): ({even: i64, odd: i64}, []i64) =
  if n == 0 then ({even = 0, odd = 0}, [])
  else let (r, xs) = split (n - 1)
       in (if n % 2 == 0 then r with even = r.even + n else r with odd = r.odd + n, xs ++ [r.odd])
def filled [n] (i: i64) (xs: *[n]i64): *[n]i64 =
  if i == n then xs else let ys = filled (i + 1) xs in ys with [i] = ys[n - 1] + i
module m = { def again (n: i64): i64 = if n < 3 then 1 else 2 + again (n - 2) }
def outer (n: i64): i64 = if n < 1 then 1 else m.again n + outer (n - 3) + outer (n - 4)
def sorted [n] (xs: [n]i32): [n]i32 =
  if n < 2 then xs else
  let p = xs[n/2]
  let [q] (lens, _, _, sides: [q]i32) =
    flatmap' (\\up -> sorted (filter (\\x -> if up then x > p else x < p) xs)) [false, true]
  in sides[:lens[0]] ++ filter (== p) xs ++ sides[lens[0]:] :> [n]i32
def levels [r][k] (start: [r]i64) (len: [r]i64) (adj: [k]i64) (s: i64): [r]i64 =
  (loop (front, depth, d) = ([s], replicate r (-1) with [s] = 0, 1) while length front > 0 do
     let [q] (_, _, _, near: [q]i64) =
       flatmap' (\\u -> filter (\\w -> depth[w] < 0) adj[start[u]:start[u]+len[u]]) front
     let owner = scatter (replicate r (-1)) near (iota q)
     let next = map (.0) (filter (\\(w, i) -> owner[w] == i) (zip near (iota q)))
     in (next, scatter depth next (map (const d) next), d + 1)).1
def primes (n: i64): []i64 =
  if n < 2 then [] else
  let [q] (_, _, _, hit: [q]i64) =
    flatmap' (\\p -> map (\\j -> p * (j + 2)) (iota (n/p - 1)))
             (primes (i64.f64 (f64.sqrt (f64.i64 n))))
  let kept = scatter (replicate (n + 1) true) hit (replicate q false)
  in filter (\\i -> kept[i]) (2...n)

entry fibs (n: i64) = fib n
entry totals [n] (xs: [n]i64) = total xs
entry ack (n: i64) = ackermann 2 n
entry downs (n: i64) = down n
entry binaries (n: i64) = binary n
entry doubled (n: i64) = twice n (* 2) 1
entry shifted (n: i64) = twice n (map (+ 1)) (iota 3)
entry both (n: i64) = twice n (+ n) 1 + twice 2 (* n) 1
entry trees (n: i64) = tree n
entry depths (n: i64) = depth n
entry folds (n: i64) = folded n
entry shapes (n: i64) = match shape_of n case #leaf k -> [k] case #pair (a, b) -> [a, b]
entry splits (n: i64) = let (r, xs) = split n in (r.even, r.odd, xs)
entry fills (n: i64) = filled 0 (replicate (n + 1) n)
entry nested (n: i64) = outer n
entry each [n] (ks: [n]i64) = map fib ks
entry folded_points [n] (ks: [n]i64) = map folded ks
entry ragged [n] (ks: [n]i64) = map (\\k -> i64.sum (binary k)) ks
entry rows [n] (ks: [n]i64) = map (\\k -> [fib k, fib (k / 2)]) ks
entry partial [n] (ks: [n]i64) = let f = ackermann 1 in map (\\k -> f k + f 1) ks
entry sorts [n] (xs: [n]i32) = sorted xs
entry prime (n: i64) = primes n
entry search [r][k] (start: [r]i64) (len: [r]i64) (adj: [k]i64) (s: i64) = levels start len adj s
"""


def fib(n: int) -> int:
    """A number of Fibonacci."""
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def ackermann(m: int, n: int) -> int:
    """Ackermann's function."""
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1 if n == 0 else ackermann(m, n - 1))


def tree(n: int) -> int:
    """A sum over all smaller trees."""
    return 5 if n <= 0 else 3 + sum(map(tree, range(n)))


def depth(n: int) -> int:
    """The depth of halving."""
    return 0 if n == 0 else max(1 + depth(max(n // 2 - i // 2, 0)) for i in range(3))


def folded(n: int) -> int:
    """A fold whose operator calls the function."""
    if n < 2:
        return n
    a = 0
    for b in range(n):
        a = (folded(a // 4) if a > 9 else a) + b
    return a


def shape(n: int) -> list[int]:
    """A leaf as one number, a pair as two."""
    if n < 3:
        return [n]
    inner = shape(n - 2)
    return [*inner, n] if len(inner) == 1 else [sum(inner) + n]


def split(n: int) -> tuple[int, int, list[int]]:
    """Sums of even and odd numbers, and the latter's course."""
    course = [sum(range(1, k + 1, 2)) for k in range(n)]
    return sum(range(0, n + 1, 2)), sum(range(1, n + 1, 2)), course


def again(n: int) -> int:
    """The function of the module."""
    return 1 if n < 3 else 2 + again(n - 2)


def outer(n: int) -> int:
    """A function that calls itself, and one that calls itself."""
    return 1 if n < 1 else again(n) + outer(n - 3) + outer(n - 4)


def fill(n: int) -> list[int]:
    """Written from the end."""
    xs = [n] * (n + 1)
    for i in reversed(range(n + 1)):
        xs[i] = xs[n] + i
    return xs


def twice(n: int, f: Callable[[int], int], x: int) -> int:
    """A function applied 2n times."""
    return x if n == 0 else f(twice(n - 1, f, f(x)))


NUMBERS: dict[str, Callable[[int], Any]] = {
    "fibs": fib, "ack": lambda n: ackermann(2, n), "downs": lambda n: list(range(n, 0, -1)),
    "binaries": lambda n: list(map(int, f"{n:b}")), "doubled": lambda n: 4 ** n,
    "shifted": lambda n: [2 * n, 2 * n + 1, 2 * n + 2],
    "both": lambda n: twice(n, lambda x: x + n, 1) + twice(2, lambda x: x * n, 1),
    "trees": tree, "depths": depth, "folds": folded, "shapes": shape, "splits": split,
    "fills": fill, "nested": outer,
    "prime": lambda n: [p for p in range(2, n + 1) if all(p % q for q in range(2, p))],
}
ARRAYS: dict[str, Callable[[list[int]], Any]] = {
    "totals": sum, "each": lambda ks: list(map(fib, ks)),
    "ragged": lambda ks: [f"{k:b}".count("1") for k in ks],
    "rows": lambda ks: [[fib(k), fib(k // 2)] for k in ks],
    "partial": lambda ks: [ackermann(1, k) + 3 for k in ks], "sorts": sorted,
}


@pytest.fixture(scope="module", params=["interpreter", "best", "lockstep"])
def program(request: pytest.FixtureRequest) -> runelift.Program:
    """The program on the interpreter, on a device, and with the plans of GPUs."""
    if request.param == "lockstep":
        return harness.lockstep(PROGRAM, "Portable")
    device = {"device": "interpreter"} if request.param == "interpreter" else {}
    return runelift.compile(PROGRAM, **device)


def plain(value: Any) -> Any:
    """A result as Python's lists and numbers."""
    return tuple(map(plain, value)) if isinstance(value, tuple) else np.asarray(value).tolist()


@pytest.mark.parametrize("entry", NUMBERS)
def test_of_a_number(program: runelift.Program, entry: str) -> None:
    """Later calls run like the first, also with other numbers of calls inside."""
    for n in (5, 5, 5, 0, 1, 7, 5):
        assert plain(getattr(program, entry)(n)) == plain_model(NUMBERS[entry](n))


def plain_model(value: Any) -> Any:
    """What a model returns, as :func:`plain` has it."""
    return tuple(value) if isinstance(value, tuple) else value


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("entry", ARRAYS)
def test_of_an_array(program: runelift.Program, entry: str) -> None:
    """Points of a map call a function at once; without points it is not called."""
    type_ = np.int32 if entry == "sorts" else np.int64
    for ks in ([3, 1, 4, 1, 5], [3, 1, 4, 1, 5], [9, 2, 6, 5, 3], [], [2], [7] * 9):
        assert plain(getattr(program, entry)(np.array(ks, type_))) == ARRAYS[entry](ks)


def test_search(program: runelift.Program) -> None:
    """Distances in a graph: each level joins the neighbours of the last one."""
    random = np.random.default_rng(5)
    for nodes in (1, 2, 40):
        near = [random.integers(0, nodes, random.integers(0, 4)).tolist() for _ in range(nodes)]
        length = np.array([len(each) for each in near], np.int64)
        start = np.concatenate([[0], np.cumsum(length)[:-1]]).astype(np.int64)
        wanted, front, steps = [-1] * nodes, [0], 0
        while front:
            for u in front:
                wanted[u] = steps
            front = sorted({w for u in front for w in near[u] if wanted[w] < 0})
            steps += 1
        joined = np.array([w for each in near for w in each], np.int64)
        assert plain(program.search(start, length, joined, 0)) == wanted


def test_random_sorts(program: runelift.Program) -> None:
    xs = np.random.default_rng(4).integers(-50, 50, 300).astype(np.int32)
    assert plain(program.sorts(xs)) == sorted(xs.tolist())


DEEP = """\
def deep (n: i64): i64 = if n == 0 then 0 else 1 + deep (n - 1)
def deep_rows [n] (xs: [n]i64): i64 = if n == 0 then 0 else 1 + deep_rows (tail xs)
entry main (n: i64) = deep n
entry rows (n: i64) = deep_rows (iota n)
def deep_maps (n: i64): i64 =
  if n == 0 then 0 else 1 + i64.sum (map (\\i -> deep_maps (n - 1 - i)) (iota 1))
entry maps (n: i64) = deep_maps n
"""


@pytest.mark.parametrize("device", ["interpreter", "pocl"])
def test_depth(device: str) -> None:
    """As many calls as the limit says are inside of each other; one more is an error."""
    deep = runelift.compile(DEEP, device=device)
    most = failures.MOST_CALLS
    assert deep.main(0) == 0
    assert deep.main(most - 1) == most - 1
    for _ in range(2):
        with pytest.raises(runelift.ProgramFailure) as caught:
            deep.main(most)
        assert "error[recursion-depth]: A function has called itself 10000 times" in str(
            caught.value)
        assert ":1:52" in str(caught.value)
    assert deep.main(3) == 3
    assert deep.rows(200) == 200
    assert deep.maps(most - 1) == most - 1
    with pytest.raises(runelift.ProgramFailure, match="recursion-depth"):
        deep.maps(most)


@pytest.mark.parametrize("device", ["interpreter", "pocl"])
def test_failure_inside(device: str) -> None:
    """A failure in a call has the place of the interpreter."""
    text = ("def at [n] (xs: [n]i64) (i: i64): i64 = if i > 9 then xs[i] else 1 + at xs (i + 1)\n"
            "entry main (xs: []i64) = at xs 0")
    program = runelift.compile(text, device=device)
    assert program.main(np.arange(11)) == 20
    with pytest.raises(runelift.ProgramFailure, match=r"1:55: error\[index-out-of-bounds\]"):
        program.main(np.arange(10))


@pytest.mark.parametrize(("text", "message"), [
    ("def f (n: i64) (g: i64 -> i64): i64 = if n == 0 then g n else 1 + f (n - 1) (\\x -> g x)",
     "passed unchanged"),
    ("def f (n: i64) (g: i64 -> i64): i64 = let h = f in if n == 0 then g n else h (n - 1) g",
     "higher-order parameter"),
    ("def f (n: i64) (g: i64 -> i64) (x: i64): i64 = let h = f n g in if n == 0 then x else h x",
     "not fully saturated"),
    ("def f (n: i64): i64 -> i64 = \\x -> if n == 0 then x else f (n - 1) x + 1",
     "not first-order"),
    ("def f (n: i64) = if n == 0 then [n] else f (n - 1) ++ [n]", "how large the arrays"),
    ("def f (n: i64): bool = n == 0 || g (n - 1)\ndef g (n: i64): bool = n != 0 && f (n - 1)",
     "call each other"),
    ("def f (n: i64): bool = n == 0 || g (n - 1)\ndef g (n: i64) = h n\ndef h (n: i64) = f n",
     "call each other"),
    ("module m = { def f (n: i64): bool = n == 0 || g (n - 1)\n"
     "  def g (n: i64): bool = n != 0 && f (n - 1) }", "Functions 'f' and 'g' call each other"),
    ("module p (X: { val k: i64 }) = { module m = {\n"
     "  def f (n: i64): bool = n == X.k || g (n - 1)\n  def g (n: i64) = h n\n"
     "  def h (n: i64) = f n } }", "Functions 'f' and 'g' call each other"),
])
def test_refused(text: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message) as caught:
        checked(Source("t", text))
    assert caught.value.diagnostics[0].code == "recursive-function"


@pytest.mark.parametrize(("text", "hint"), [
    ("def f : i64 -> i64 = \\n -> if n == 0 then 0 else f (n - 1)", "that has parameters"),
    ("module m = { def f = \\(n: i64) -> if n == 0 then 0 else f (n - 1) }", "that has parameters"),
    ("module m = { def f (n: i64): i64 = g n\n  def g (n: i64) = n }", "Move the definition")])
def test_names_not_known_yet(text: str, hint: str) -> None:
    with pytest.raises(ProgramError, match="unknown-name") as caught:
        checked(Source("t", text))
    assert hint in str(caught.value)


def test_types_of_calls() -> None:
    """A call has the types of the definition, and its own sizes."""
    with pytest.raises(ProgramError) as caught:
        checked(Source("t", "def f [n] (xs: [n]i64): [n]i64 = if n == 0 then xs else f (tail xs)"))
    assert caught.value.diagnostics[0].code == "size-mismatch"
    with pytest.raises(ProgramError) as caught:
        checked(Source("t", "def f 'a (n: i64) (x: a): i64 = if n == 0 then 1 else f 2 n + f 1 x"))
    assert caught.value.diagnostics[0].code == "type-mismatch"


def test_maps_say_that_points_run_in_turn() -> None:
    """The listing of flattening names the function that keeps points from running at once."""
    compiled = runelift.compile(PROGRAM, device="interpreter").compiled
    text = compiled.derivation("folded_points").render()
    assert "kernels never recurse: the points run in turn" in text
    assert "a call of 'folded' stands where its points run in turn" in text
    assert "turn" not in compiled.derivation("each").render()


def test_memory_of_calls() -> None:
    """A caller that needs an argument no longer keeps none of its memory."""
    program = runelift.compile(
        "def last [n] (xs: [n]i64): i64 =\n"
        "  if n == 1 then xs[0] else 1 + last (tail (map (+ 1) xs))\n"
        "entry main (n: i64) = last (iota n)", device="pocl")
    count = 120
    (found,), record = program.run("main", [count], record=True)
    assert found == 3 * count - 3
    assert record is not None
    assert record.peak_bytes < 12 * 8 * count


WRITES = """\
def fib (n: i64): i64 = if n < 2 then n else fib (n - 1) + fib (n - 2)
def spread [n] (a: *acc ([n]i64)) (lo: i64) (hi: i64): *acc ([n]i64) =
  if hi <= lo then a else
  let m = (lo + hi) / 2
  let a = spread (write a m (hi - lo)) lo m
  in spread a (m + 1) hi
def counted [n] (a: *acc ([n]i64)) (k: i64): (*acc ([n]i64), i64) =
  if k == 0 then (a, 1) else let (a, x) = counted a (k - 1) in (write a k x, x * 2)
entry sums [m] (ks: [m]i64) =
  reduce_by_index_stream (replicate 5 1) (+) 0 (\\(a: *acc ([5]i64)) k -> spread a 0 k) ks
entry last [m] (ks: [m]i64) =
  scatter_stream (replicate 5 1) (\\(a: *acc ([5]i64)) k -> spread a 0 k) ks
entry rows [m] (ks: [m]i64) =
  map (\\k -> i64.sum (reduce_by_index_stream (replicate k 1) i64.max i64.lowest
                      (\\(a: *acc ([k]i64)) j -> spread a 0 j) (iota k))) ks
entry pairs [m] (ks: [m]i64) =
  reduce_by_index_stream (replicate 5 1) (+) 0 (\\(a: *acc ([5]i64)) k -> (counted a k).0) ks
entry called [m] (ks: [m]i64) =
  scatter_stream (replicate 5 1) (\\(a: *acc ([5]i64)) k -> loop a for i < k do
    if fib i % 2 == 0 then write a (i - 1) (fib k) else a) ks
entry bins [m] (ks: [m]i64) = hist (\\a b -> fib (a % 5) + b) 0 3 (map (\\k -> k % 5 - 1) ks) ks
entry tuples [m] (ks: [m]i64) = unzip (reduce_by_index (replicate 3 (0, 9))
  (\\(a, b) (c, d) -> (a + c + fib 0, i64.min b d)) (0, 99) (map (% 4) ks) (zip ks ks))
"""


def spread(bins: list[int], lo: int, hi: int, op: Callable[[int, int], int]) -> list[int]:
    """Writes the length of each part in a tree of halves to its middle, if that is inside."""
    if lo < hi:
        middle = (lo + hi) // 2
        if middle < len(bins):
            bins[middle] = op(bins[middle], hi - lo)
        spread(spread(bins, lo, middle, op), middle + 1, hi, op)
    return bins


def written(ks: list[int], each: Callable[[list[int], int], Any], size: int = 5) -> list[int]:
    """Bins after the writes of all elements."""
    bins = [1] * size
    for k in ks:
        each(bins, k)
    return bins


def called(bins: list[int], k: int) -> None:
    """Writes a number of Fibonacci before each even one."""
    for i in range(k):
        if fib(i) % 2 == 0 and 0 < i <= len(bins):
            bins[i - 1] = fib(k)


def bins_of(ks: list[int]) -> list[int]:
    """A histogram whose operator is no sum."""
    bins = [0] * 3
    for k in ks:
        if 0 < k % 5 < 4:
            bins[k % 5 - 1] = fib(bins[k % 5 - 1] % 5) + k
    return bins


def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


WRITTEN: dict[str, Callable[[list[int]], Any]] = {
    "sums": lambda ks: written(ks, lambda bins, k: spread(bins, 0, k, add)),
    "last": lambda ks: written(ks, lambda bins, k: spread(bins, 0, k, lambda a, b: b)),
    "rows": lambda ks: [sum(written(list(range(k)), lambda bins, j: spread(bins, 0, j, max), k))
                        for k in ks],
    "pairs": lambda ks: [1 + sum(2 ** (i - 1) for k in ks if 0 < i <= k) for i in range(5)],
    "called": lambda ks: written(ks, called), "bins": bins_of,
    "tuples": lambda ks: ([sum(k for k in ks if k % 4 == b) for b in range(3)],
                          [min([9, *(k for k in ks if k % 4 == b)]) for b in range(3)]),
}


@pytest.mark.parametrize("entry", WRITTEN)
@pytest.mark.parametrize("device", ["interpreter", "pocl"])
def test_of_accumulators(device: str, entry: str) -> None:
    """Kernels cannot write to bins where functions call themselves: elements come in turn."""
    program = runelift.compile(WRITES, device=device)
    for ks in ([5, 3, 9], [], [0], [1, 12, 0, 3]):
        assert plain(getattr(program, entry)(np.array(ks, np.int64))) == WRITTEN[entry](ks)
