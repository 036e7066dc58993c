"""Loops that run a different number of times at each point: every version, and their work."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.ir import syntax as ir
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.interpret import Interpreter, interpret, interpret_fun
from runelift.ir.traverse import statements_at_host, statements_inside
from runelift.ir.values import Env, Value
from runelift.runtime.versions.forest import plans

POINTS = {
    "none": [], "one": [5], "ended": [0] * 7, "all at once": [4] * 6, "ones": [1] * 40,
    "mixed": [0, 3, 0, 17, 1, 9, 0, 0], "ascending": list(range(23)),
    "one of many": [1, 1, 1, 1, 60, 1],
}
PROGRAMS: dict[str, str] = {
    "collatz": "(loop (x, s) = (k, 0) while x > 1 do "
               "(if x % 2 == 0 then x / 2 else 3 * x + 1, "
               "s + i64.sum (map (\\i -> i * x % 5) (iota (x % 7))))).1",
    "vector": "let v = map (\\c -> f64.i64 (k + c)) (iota 3) in f64.sum "
              "(loop v while f64.sum v > 2 do map (\\x -> (x + 1 / (x + 1)) / 2) v)",
    "scan": "(loop (s, t) = (1, k) while t > 0 do "
            "(let ys = scan (+) 0 (map (% (s + 2)) (iota t)) in s + ys[t - 1] % 100, t - 2)).0",
    "counted": "loop s = k for i < k do s + i64.sum (map (\\j -> j * s % 7) (iota i))",
    "regular inside": "loop s = k for i < k do s + i64.sum (map (\\j -> j * s % 7) (iota 40))",
    "uniform scalar": "let (s, i) = loop (s, i) = (0, 1) while s < k do "
                      "(s + 1 + i64.sum (map (\\j -> j * i % 3) (iota i)), i + 1) in s * 100 + i",
    "loop in loop": "loop s = 0 for i < k do loop t = s for j < i % 4 do "
                    "t + i64.sum (map (* (j + 1)) (iota (k % 5)))",
    "swapped": "let (a, b) = loop (a, b) = (k, 1) for i < k do "
               "(b, a + i64.sum (map (% 3) (iota (b % 4)))) in a * 3 - b",
    "update": "i64.sum (loop v = replicate 4 k for i < k do v with [i % 4] = "
              "v[(i + 1) % 4] + i64.sum (map (* 2) (iota (i % 5))))",
    "two arrays": "let (v, w) = loop (v, w) = ([k, 1], [2, k]) for i < k do "
                  "(w, map (\\x -> (x + i) % 9) v) in i64.sum (map2 (*) v w)",
    "rows before": "let ys = filter (\\i -> i % 3 != 1) (iota k) in "
                   "loop s = 0 for i < length ys do s + i64.sum (map (* ys[i]) ys)",
}


def text_of(name: str) -> str:
    """A map with the body of a program, and a nest of two maps."""
    return (f"entry main [n] (ks: [n]i64) = map (\\k -> {PROGRAMS[name]}) ks\n"
            f"entry deeper [n] (ks: [n]i64) = "
            f"map (\\l -> map (\\c -> let k = l * c in {PROGRAMS[name]}) [0, 1, 2]) ks")


@pytest.mark.parametrize("name", PROGRAMS)
def test_flat_versions_agree_with_the_nested_text(name: str) -> None:
    compiled = runelift.compile(text_of(name), device="interpreter").compiled
    for entry in ("main", "deeper"):
        for shape, points in POINTS.items():
            args = [np.array(points, np.int64)]
            np.testing.assert_allclose(
                interpret(compiled.versioned, entry, args)[0],
                interpret(compiled.core, entry, args)[0], rtol=1e-12, err_msg=f"{entry}: {shape}")


def test_kernels_agree_with_the_interpreter(simulator: str) -> None:
    program = runelift.compile(text_of("collatz"), device=simulator)
    for entry in ("main", "deeper"):
        args = [np.array(POINTS["mixed"], np.int64)]
        (expected,) = interpret(program.compiled.core, entry, args)
        for force in plans(program.tree.entry(entry)):
            np.testing.assert_array_equal(program.run(entry, args, force=force)[0][0], expected)


def flat_loops(text: str) -> list[ir.Loop]:
    """The loops of the host over active points."""
    (fun,) = runelift.compile(text, device="interpreter").compiled.versioned_entry("main").funs
    return [stm.exp for stm in statements_at_host(fun.body) if isinstance(stm.exp, ir.Loop)
            and any(p.param.name.base == "points" for p in stm.exp.params)]


def test_the_rule_can_be_left_out() -> None:
    text = text_of("collatz")
    assert flat_loops(text)
    program = runelift.compile(text, device="interpreter", policy="all+without-G20")
    (fun,) = program.compiled.versioned_entry("main").funs
    assert not any(isinstance(s.exp, ir.Loop) for s in statements_at_host(fun.body))


def test_all_operations_of_an_iteration_are_over_active_points() -> None:
    """No operation in the loop has all points of the nest."""
    (loop,) = flat_loops("entry main [n] (ks: [n]i64) = "
                         f"map (\\k -> {PROGRAMS['counted']}) ks")
    widths = {dim.width for s in statements_inside([loop.body])
              for dim in getattr(s.exp, "space", ()) if dim.ragged is None}
    all_points = {p.param.type.shape[0] for p in loop.params  # type: ignore[union-attr]
                  if p.param.name.base == "loop"}
    assert all_points
    assert widths.isdisjoint(all_points)


class Counting(Interpreter):
    """An interpreter that counts the points of operations, and the branches that run."""

    count = 0

    def body(self, body: ir.Body, env: Env) -> list[Value]:
        self.count += 1
        return super().body(body, env)


@pytest.mark.parametrize("name", ["counted", "regular inside"])
def test_work_is_that_of_the_active_points(name: str, sweeps: bool) -> None:
    """Points that have ended cost nothing: one long loop among others costs as by itself."""
    longest, others = (10_000, 1000) if sweeps and name != "counted" else (90, 400)
    (fun,) = runelift.compile(
        f"entry main [n] (ks: [n]i64) = map (\\k -> {PROGRAMS[name]}) ks",
        device="interpreter").compiled.versioned_entry("main").funs
    work = dict[int, int]()
    for n in (0, others):
        machine = Counting()
        interpret_fun(fun, [np.array([longest] + [0] * n)], machine)
        work[n] = machine.count
    assert work[0] > longest
    assert work[others] - work[0] < 8 * others


FAILING = {
    "inside": ("map (\\k -> loop s = 0 for i < k do s + xs[k - 1] + i64.sum (iota i)) ks",
               [2, 0, 9, 1], r"\[8\]"),
    "in front, with no iterations": (
        "map (\\k -> let x = xs[k] in loop s = 0 for i < k - 9 do s + x + i64.sum (iota i)) ks",
        [2, 0, 9, 1], r"\[9\]"),
    "a loop that would not end": (
        "map (\\k -> let k = assert (k > 0) k in loop s = 20 while s > 0 do "
        "s - k - i64.sum (iota (s % 2))) ks", [2, 0, 9, 1], "assert"),
}


@pytest.mark.parametrize("name", FAILING)
def test_one_failing_point(name: str) -> None:
    body, points, message = FAILING[name]
    compiled = runelift.compile(
        f"entry main [n] (ks: [n]i64) (xs: [4]i64) = {body}", device="interpreter").compiled
    for program in (compiled.core, compiled.versioned):
        with pytest.raises(ProgramFailure, match=message):
            interpret(program, "main", [np.array(points), np.arange(4)])
