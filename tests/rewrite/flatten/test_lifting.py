"""Recursion over points: every version against the interpreter, and what it costs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ProgramFailure, RunTooLarge
from runelift.ir.interpret import interpret
from runelift.runtime.versions.forest import plans
from tests.codegen import harness

NUMBERS = {"none": [], "one": [5], "zero": [0], "many": [3, 0, 1, 7, 2, 0, 6, 4, 5, 5, 1]}
PROGRAMS: dict[str, str] = {
    "two calls": """def f (n: i64): i64 = if n < 2 then n else f (n - 1) + f (n - 2)
      entry main [n] (ks: [n]i64) = map f ks""",
    "calls that wait": """def f (m: i64) (n: i64): i64 =
        if m == 0 then n + 1 else if n == 0 then f (m - 1) 1 else f (m - 1) (f m (n - 1))
      entry main [n] (ks: [n]i64) = map (f 1) ks""",
    "three branches": """def f (n: i64): i64 =
        if n % 3 == 0 then n else if n % 3 == 1 then 2 * f (n - 1) else f (n - 1) - f (n - 2)
      entry main [n] (ks: [n]i64) = map f ks""",
    "halves": """def f [n] (xs: [n]i64): i64 = if n == 0 then 0 else if n == 1 then xs[0] else
        let half = n / 2 in f xs[:half] + 2 * f xs[half:]
      entry main [n] (ks: [n]i64) = map (\\k -> f (map (* k) ks[:k % (n + 1)])) ks""",
    "halves at the host": """def f [n] (xs: [n]i64): i64 = if n == 0 then 0 else
        if n == 1 then xs[0] else let half = n / 2 in f xs[:half] + 2 * f xs[half:]
      entry main [n] (ks: [n]i64) = f ks""",
    "rows of a matrix": """def f [n] (xs: [n]i64): i64 = if n < 2 then i64.sum xs else
        f (tail xs) - 3 * f (init xs)
      entry main [n] (ks: [n]i64) = map f (map (\\k -> [k, k + 1, 5]) ks)""",
    "map inside": """def f (n: i64): i64 = if n <= 0 then 5 else 3 + i64.sum (map f (iota n))
      entry main [n] (ks: [n]i64) = map f ks""",
    "map at the host": """def f (n: i64): i64 = if n <= 0 then 5 else 3 + i64.sum (map f (iota n))
      entry main [n] (ks: [n]i64) = f (length ks)""",
    "rows of any length": """def f (n: i64): []i64 = if n < 2 then [n] else f (n / 2) ++ [n % 2]
      entry main [n] (ks: [n]i64) = map (\\k -> let d = f k in i64.sum d * length d) ks""",
    "rows of both branches": """def f (n: i64): []i64 =
        if n < 2 then replicate n 7 else if n % 2 == 0 then map (+ n) (f (n - 1))
        else map (+ n) (scan (+) 0 (f (n - 2))) ++ f (n / 2)
      entry main [n] (ks: [n]i64) = map (\\k -> let d = f k in i64.sum d + 100 * length d) ks""",
    "pairs": """def f (n: i64): [2]i64 =
        if n == 0 then [1, 2] else let r = f (n - 1) in [r[1], r[0] + n]
      entry main [n] (ks: [n]i64) = map f ks""",
    "power set": """def f (n: i64): []i64 =
        if n == 0 then [0] else let s = f (n - 1) in s ++ map (+ n) s
      entry main [n] (ks: [n]i64) = map (\\k -> let s = f (k % 6) in length s + i64.sum s) ks""",
    "two arrays": """def f [n][m] (xs: [n]i64) (ys: [m]i64): i64 =
        if n == 0 then i64.sum ys else if m == 0 then i64.sum (map (* 2) xs) else
        xs[0] * ys[m - 1] + f (tail xs) (init ys) + f ys[:m / 2] xs[n / 2:]
      entry main [n] (ks: [n]i64) = map (\\k -> f ks[:k % (n + 1)] (iota (k % 4))) ks""",
    "closure": """def twice (n: i64) (f: i64 -> i64) (x: i64): i64 =
        if n == 0 then x else f (twice (n - 1) f (f x)) + twice (n - 1) f 1
      entry main [n] (ks: [n]i64) =
        map (\\k -> let zs = map (+ k) (iota (k + 1))
                   in twice (k % 4) (\\x -> zs[x % (k + 1)] + k) 1) ks""",
    "sort": """def f [n] (xs: [n]i64): [n]i64 = if n < 2 then xs else
        let p = xs[n / 2]
        let [q] (lens, _, _, sides: [q]i64) =
          flatmap' (\\up -> f (filter (\\x -> if up then x > p else x < p) xs)) [false, true]
        in sides[:lens[0]] ++ filter (== p) xs ++ sides[lens[0]:] :> [n]i64
      entry main [n] (ks: [n]i64) = f ks""",
    "sorts": """def f [n] (xs: [n]i64): [n]i64 = if n < 2 then xs else
        let p = xs[n / 2]
        let (lens, _, _, sides) =
          flatmap' (\\up -> f (filter (\\x -> if up then x > p else x < p) xs)) [false, true]
        in sides[:lens[0]] ++ filter (== p) xs ++ sides[lens[0]:] :> [n]i64
      entry main [n] (ks: [n]i64) =
        map (\\k -> let ys = f (map (\\x -> x * 7 % (k + 1)) ks[:k % (n + 1)])
                   in i64.sum (map2 (*) ys (indices ys))) ks""",
    "two sorts": """def f [n] (xs: [n]i64): [n]i64 = if n < 2 then copy xs else
        let p = xs[n / 2]
        let (below, above) = (f (filter (< p) xs), f (filter (> p) xs))
        in below ++ filter (== p) xs ++ above :> [n]i64
      entry main [n] (ks: [n]i64) = map (\\k -> f (map (\\x -> x * 7 % (k + 1)) ks)) ks""",
    "arrays of three calls": """def f [n] (k: i64) (xs: [n]i64): i64 =
        if n < 2 then k + i64.sum xs else let ys = tail xs in
        f (k + 1) (filter (> k) ys) + 3 * f k ys + 5 * f 0 (filter (\\x -> x % 2 < k) ys)
      entry main [n] (ks: [n]i64) = map (\\k -> map (\\j -> f j ks[:k % (n + 1) / 2]) [0, k]) ks""",
    "loop": """def f (n: i64): i64 =
        if n == 0 then 0 else loop d = 0 for i < 3 do i64.max d (1 + f (n / 2 - i / 2 |> i64.max 0))
      entry main [n] (ks: [n]i64) = map f ks""",
    "operator": """def f (n: i64): i64 =
        if n < 2 then n else reduce (\\a b -> if a > 9 then f (a / 4) + b else a + b) 0 (iota n)
      entry main [n] (ks: [n]i64) = map f ks""",
    "uneven loop": """def f (n: i64): i64 =
        if n < 2 then n else loop d = 0 for i < n do i64.max d (1 + f (n / 2 - i % 2))
      entry main [n] (ks: [n]i64) = map f ks""",
    "matrices": """def f [n][m] (k: i64) (xs: [n][m]i64): i64 =
        if k == 0 then i64.sum (map i64.sum xs) else f (k - 1) xs + f (k / 2) (map (map (+ k)) xs)
      entry main [n] (ks: [n]i64) = map (\\k -> f (k % 4) [ks, ks]) ks""",
    "rows of two lengths": """def f [n] (k: i64) (xs: [n][2]i64): i64 =
        if n < 2 then k else f k (tail xs) + f (k + 1) (init xs)
      entry main [n] (ks: [n]i64) = map (\\k -> f k (map (\\j -> [j, k]) (iota (k % 4)))) ks""",
    "both in a loop": """def f (n: i64): i64 = if n < 2 then n else f (n - 1) + f (n - 2)
      entry main [n] (ks: [n]i64) = loop ks for i < 2 do map (\\k -> f (k % 7) + i) ks""",
    "branches of any length": """entry main [n] (ks: [n]i64) =
        map (\\k -> map (\\j ->
               let ys = if k % 2 == j then filter (> 2) (iota k) else map (* 2) (iota (k + 1))
               in i64.sum ys + length ys) [0, 1]) ks""",
    "two dimensions": """def f (n: i64): i64 = if n < 2 then n else f (n - 1) + f (n / 2)
      entry main [n] (ks: [n]i64) = map (\\k -> map (\\j -> f ((k + j) % 7)) ks) ks""",
    "two arrays of one length": """def f (n: i64): ?[k].([k]i64, [k]i64) =
        if n < 2 then (replicate n 7, iota n) else
        let (a, b) = f (n / 2)
        let c = map (* 2) b
        in (a ++ c, c ++ map (+ n) b)
      entry main [n] (ks: [n]i64) =
        map (\\k -> let (a, b) = f k in i64.sum (map2 (*) a b) + length b) ks""",
    "nested functions": """def g (n: i64): i64 = if n < 3 then 1 else 2 + g (n - 2) + g (n - 3)
      def f (n: i64): i64 = if n < 1 then 1 else g n + f (n - 3) + f (n - 4)
      entry main [n] (ks: [n]i64) = map f ks""",
    "checks": """def f (n: i64): i64 =
        if n < 2 then n else assert (n < 100) (f (n - 1)) + assert (n > 1) (f (n - 2))
      entry main [n] (ks: [n]i64) = map f ks""",
    "numbers and arrays of a last branch": """def f (n: i64): (i64, [2]i64) =
        let (t, xs) = if n == 0 then (1, [1, 2]) else f (n - 1)
        in if xs[0] > 3 then (t + 1, [xs[1], 0]) else (t, [xs[0] + n, t])
      entry main [n] (ks: [n]i64) = map (\\k -> let (t, xs) = f k in t * 100 + i64.sum xs) ks""",
    "numbers and arrays of a last loop": """def f (n: i64): (i64, [2]i64) =
        let (t, xs) = if n <= 0 then (1, [1, 2]) else f (n - 2)
        in loop (t, xs) for i < n do (t + xs[0] % 7, [xs[1], t + i])
      entry main [n] (ks: [n]i64) = map (\\k -> let (t, xs) = f k in t * 100 + i64.sum xs) ks""",
    "constructors with arrays": """type t = #leaf ([3]i64) | #node (i64, [2]i64)
      def f (n: i64): t = if n < 2 then #leaf [n, 1, 2] else match f (n / 2)
        case #leaf xs -> #node (xs[0] + n, xs[1:3] :> [2]i64)
        case #node (a, xs) -> #leaf [a, xs[1], n]
      entry main [n] (ks: [n]i64) = map (\\k -> match f k case #leaf xs -> i64.sum xs
                                                       case #node (a, xs) -> a * i64.sum xs) ks""",
    "operator over rows": """def f (n: i64): i64 = if n < 2 then n else f (n - 1) + f (n - 2)
      entry main [n] (ks: [n]i64) = map (\\k ->
        let xs = map (\\i -> i * 5 % 7) (iota k)
        let (a, b) = reduce (\\(a, b) (c, d) -> (i64.max (a + f 0) c, b + d)) (0, 0) (zip xs xs)
        in if k == 2 then a else a * b + i64.sum (scan (\\x y -> i64.max (x + f 0) y) 0 xs)) ks""",
}


IN_TURN = {"operator", "operator over rows", "rows of two lengths"}
"""Programs whose points run in turn, as a kernel has a call that no rule carries outwards."""


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_versions_agree_with_the_interpreter(name: str) -> None:
    """Each version, and the plans of GPUs, give what the interpreter gives."""
    for program in (runelift.compile(PROGRAMS[name], device="pocl"),
                    harness.lockstep(PROGRAMS[name], "Portable")):
        forces = plans(program.tree.entry("main"))
        for values in NUMBERS.values():
            ks = np.array(values, np.int64)
            expected = plain(interpret(program.compiled.core, "main", [ks]))
            assert plain(interpret(program.compiled.versioned, "main", [ks])) == expected
            for force in forces:
                assert plain(program.run("main", [ks], force=force)[0]) == expected, values
    assert ("turn" in program.compiled.derivation("main").render()) == (name in IN_TURN)


def test_a_derivation_counts_calls_and_tells_levels_from_points() -> None:
    """No two sizes of a nest have one name."""
    text = runelift.compile("""
def sorted [k] (xs: [k]i64): []i64 =
  if k < 2 then xs else sorted (filter (< xs[0]) xs) ++ [xs[0]] ++ sorted (filter (> xs[0]) xs)
def sum [k] (xs: [k]i64): i64 = if k < 2 then i64.sum xs else sum xs[:k/2] + sum xs[k/2:]
entry main [n] (xs: [n]i64): []i64 = sorted xs
entry each [n] (ks: [n]i64): [n]i64 = map (\\k -> sum (iota k)) ks
""", device="pocl", tuning={}).compiled
    top, nest = (text.derivation(entry).render() for entry in ("main", "each"))
    assert "for all calls of a level at once" in top
    assert "for all points of ⟨i < n⟩ at once" in nest
    assert re.search("2 calls at each point of ⟨q < others⟩, all at once", top)
    assert not re.search(r"< (\w+), j < \1\[", top + nest)


def plain(value: Any) -> Any:
    """Results as Python's lists and numbers."""
    return [np.asarray(each).tolist() for each in value]


FAILING: dict[str, str] = {
    "an index": """def f [n] (xs: [n]i64) (i: i64): i64 =
        if i > 9 then xs[i] else f xs (i + 1) + f xs (i + 2)
      entry main [n] (ks: [n]i64) = map (f (iota 10)) ks""",
    "a slice": """def f [n] (xs: [n]i64): i64 =
        if n < 2 then n else f xs[1:] + f xs[:n - 2] + f xs[n - 3:n - 1]
      entry main [n] (ks: [n]i64) = map (\\k -> f (iota k)) ks""",
    "a division": """def f (n: i64): i64 = if n < 2 then 7 / (n - 1) else f (n - 1) + f (n - 2)
      entry main [n] (ks: [n]i64) = map f ks""",
    "a check": """def f (n: i64): i64 =
        if n < 2 then n else let m = assert (n != 3) n in f (m - 1) + f (m - 2)
      entry main [n] (ks: [n]i64) = map f ks""",
    "a size behind a filter": """def f [n] (xs: [n]i64): [n]i64 = if n < 2 then xs else
        let p = xs[n / 2]
        let [q] (lens, _, _, sides: [q]i64) =
          flatmap' (\\up -> f (filter (\\x -> if up then x > p else x < p) xs)) [false, true]
        in sides[:lens[0]] ++ filter (<= p) xs ++ sides[lens[0]:] :> [n]i64
      entry main [n] (ks: [n]i64) = f ks""",
    "a size": """def f (n: i64): []i64 =
        if n < 2 then replicate (n - 1) 1 else f (n - 1) ++ f (n - 2)
      entry main [n] (ks: [n]i64) = map (\\k -> i64.sum (f k)) ks""",
}


@pytest.mark.parametrize("name", FAILING)
def test_failures(name: str) -> None:
    """A point that fails gives the error of the interpreter; without points nothing fails."""
    program = runelift.compile(FAILING[name], device="pocl")
    ks = np.array([0, 5, 2, 3])
    with pytest.raises(ProgramFailure) as wanted:
        interpret(program.compiled.core, "main", [ks])
    for force in plans(program.tree.entry("main")):
        assert plain(program.run("main", [ks[:0]], force=force)[0]) == [[]]
        with pytest.raises(ProgramFailure) as found:
            program.run("main", [ks], force=force)
        assert code(found.value) == code(wanted.value)


def code(failure: ProgramFailure) -> str:
    """The code of an error."""
    found = re.search(r"error\[[a-z-]+\]", str(failure))
    assert found is not None, str(failure)
    return found.group()


def test_recursion_without_end_stops_before_memory_is_full() -> None:
    program = runelift.compile(ENDLESS, device="pocl")
    program.memory = bound = 1 << 22
    with pytest.raises(RunTooLarge) as found:
        program.run("main", [np.array([3, 1])])
    assert found.value.code == "too-large"
    assert ":1:48: " in str(found.value)
    count, depth = map(int, re.findall(r" (\d+) (?:calls|others)", str(found.value)))
    assert count == 2 ** (depth + 1)
    assert 16 * count <= bound < 8 * 16 * count
    program.memory = None
    program.run("main", [np.array([-1])])


ENDLESS = """def f (n: i64): i64 = if n < 0 then n else 1 + f (n + 1) + f (n + 2)
entry main [n] (ks: [n]i64) = map f ks"""


@pytest.mark.parametrize(("name", "most"), [("two calls", 6), ("halves at the host", 12),
                                            ("sort", 12)])
def test_launches_do_not_depend_on_the_number_of_points(name: str, most: int) -> None:
    """A level of calls has so many launches, with few points and with many."""
    program = runelift.compile(PROGRAMS[name], device="pocl")

    def launches(levels: int, points: int) -> int:
        ks = np.full(points, levels) if name == "two calls" else np.arange(2 ** levels)
        _, record = program.run("main", [ks], record=True)
        assert record is not None
        return record.launches

    few, many = (launches(levels, points) - launches(levels - 1, points)
                 for levels, points in ((6, 2), (10, 64)))
    assert few == many
    assert few <= most
