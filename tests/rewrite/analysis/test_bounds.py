"""Checks that cannot fail are removed, and no others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import runelift
from runelift.codegen.plan.plan import kernels
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.base.failures import DIVISION
from runelift.ir.interpret import interpret
from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.ir.solver.inequalities import Facts
from runelift.ir.syntax import Assert, Body, Index, PrimOp, Program, SegMap, Stm, Update
from runelift.ir.traverse import bodies_of, lambdas_of

NAMES = tuple(VName(base, tag) for tag, base in enumerate("nij", 1))
n, i, j = map(Size.var, NAMES)
linear = st.builds(lambda a, b, c, d: n * a + i * b + j * c + d, *[st.integers(-2, 2)] * 3,
                   st.integers(-5, 5))


@given(st.lists(linear, max_size=5), linear)
@settings(max_examples=150)
def test_what_is_proved_holds(known: list[Size], goal: Size) -> None:
    if not Facts(tuple(known)).prove(goal):
        return
    for values in itertools.product(range(-4, 8), repeat=3):
        env = dict(zip(NAMES, values, strict=True))
        assert goal.value(env) >= 0 or any(fact.value(env) < 0 for fact in known)


@pytest.mark.parametrize(("known", "goal"), [
    ([i, n - i - 1], n - 1),
    ([i, n - i - 1, j, i - j], n - j - 1),
    # q = i / 16 and m = ceil (n / 16) for i < n: q < m, which needs whole numbers
    ([i, n - i - 1, i - 16 * j, Size.var(VName("m", 4)) * 16 - n], Size.var(VName("m", 4)) - j - 1),
    ([i * 2 - 1], i - 1),
])
def test_proofs(known: list[Size], goal: Size) -> None:
    assert Facts(tuple(known)).prove(goal)
    assert not Facts(tuple(known)).prove(goal - 1)


def test_minima_and_maxima_are_proved_by_cases() -> None:
    low, both = VName("low", 5), VName("both", 6)
    facts = Facts((i, n - i - 1)).choice(low, n - 1, i + 1).given(n - 1 - Size.var(low),
                                                                 i + 1 - Size.var(low))
    facts = facts.choice(both, Size.of(0), Size.var(low)).given(
        Size.var(both), Size.var(both) - Size.var(low))
    assert facts.prove(Size.var(both))
    assert facts.prove(n - 1 - Size.var(both))
    assert not facts.prove(n - 2 - Size.var(both))


def statements(body: Body) -> Iterator[Stm]:
    for stm in body.stms:
        yield stm
        for inner in (*bodies_of(stm.exp), *(lam.body for lam in lambdas_of(stm.exp))):
            yield from statements(inner)


def checks(source: str) -> int:
    program: Program = runelift.compile(source, device="interpreter").compiled.versioned
    return sum(isinstance(s.exp, Assert) or (isinstance(s.exp, Index | Update) and s.exp.checked)
               for fun in program.funs for s in statements(fun.body))


INSIDE = {
    "an index": "tabulate n (\\i -> xs[i] + xs[n - 1 - i])",
    "a stencil": "tabulate n (\\i -> xs[i64.max 0 (i - 1)] + xs[i64.min (n - 1) (i + 1)])",
    "a branch": "tabulate n (\\i -> if i > 0 && i + 1 < n then xs[i - 1] + xs[i + 1] else 0)",
    "a loop": "loop ys = copy xs for i < n - 1 do ys with [i + 1] = ys[i] + ys[i + 1]",
    "blocks": "tabulate n (\\i -> xs[i / 16 * 16 + i % 16])",
    "a slice": "loop ys = copy xs for i < n do let s = i32.sum ys[i:] in ys with [i] = s",
    "a border": "tabulate n (\\i -> if i == 0 then 0 else xs[i - 1])",
    "the other border": "tabulate n (\\i -> if n - 1 == i then 0 else xs[i + 1])",
    "a clamp": "tabulate n (\\i -> (copy [1, 2, 3])[i64.max 0 (i64.min 2 (i - 5))])",
    "one below a clamp": "tabulate n (\\i -> let j = i64.max 0 (i64.min 3 (i - 5)) "
                         "in if j == 0 then 0 else (copy [1, 2, 3])[j - 1])",
}
OUTSIDE = {
    "one above": "tabulate n (\\i -> xs[i + 1])",
    "one below": "tabulate n (\\i -> xs[i - 1])",
    "the wrong border": "tabulate n (\\i -> if i == 0 then 0 else xs[i + 1])",
    "a clamp that is too wide": "tabulate n (\\i -> "
                                "(copy [1, 2, 3])[i64.max 0 (i64.min 3 (i + 3))])",
    "half a branch": "tabulate n (\\i -> if i + 1 <= n then xs[i + 1] else 0)",
    "data": "map (\\x -> xs[i64.i32 x]) xs",
}


@pytest.mark.parametrize("body", INSIDE.values(), ids=INSIDE)
def test_accesses_that_are_inside(body: str) -> None:
    assert not checks(f"entry main [n] (xs: [n]i32): [n]i32 = {body}")


@pytest.mark.parametrize("body", OUTSIDE.values(), ids=OUTSIDE)
def test_accesses_that_may_be_outside(body: str) -> None:
    source = f"entry main [n] (xs: [n]i32): [n]i32 = {body}"
    assert checks(source)
    program = runelift.compile(source)
    with pytest.raises(ProgramFailure, match="out of bounds"):
        program.main(np.array([5, 1, 2, 3], np.int32))


DIVIDED = {
    "the size of a map": "map (\\x -> i32.i64 (i64.i32 x % n)) xs",
    "more than that": "map (\\x -> i32.i64 (i64.i32 x / (n + 1))) xs",
    "a place around the end": "tabulate n (\\i -> xs[(i + 3) % n])",
    "a branch": "tabulate n (\\i -> if i > 2 then i32.i64 (9 / (i - 2)) else 0)",
    "an operator": "scan (\\x y -> i32.i64 ((i64.i32 x + i64.i32 y) % n)) 0 (map (% 2) xs)",
    "rows": "map (\\x -> i32.sum (map (\\y -> i32.i64 (i64.i32 (x * y) % n)) xs)) xs",
    "a loop": "loop ys = xs for i < k do map (\\y -> y + i32.i64 (n / k)) ys",
}
FAILING = {
    "data": "map (\\x -> i32.i64 (5 / (i64.i32 x - 1))) xs",
    "less than the size": "map (\\x -> i32.i64 (i64.i32 x % (n - 4))) xs",
    "another size": "map (\\x -> i32.i64 (i64.i32 x % k)) xs",
    "one side of a branch": "tabulate n (\\i -> if i > 2 then i32.i64 (9 / (i - 2)) "
                            "else 1 + i32.i64 (9 / (i - 2)))",
    "the mean of nothing": "map (\\x -> x + i32.i64 (i64.sum (iota k) / k)) xs",
    "before the loop": "map (\\x -> loop y = x % i32.i64 k for _i < k do y % i32.i64 k) xs",
}


@pytest.mark.parametrize("device", ["pocl", "oclgrind"])
@pytest.mark.parametrize("body", DIVIDED.values(), ids=DIVIDED)
def test_divisions_that_cannot_fail_are_not_checked(body: str, device: str) -> None:
    text = f"entry main [n] (xs: [n]i32) (k: i64): [n]i32 = {body}"
    program, meaning = (runelift.compile(text, device=each, tuning={})
                        for each in (device, "interpreter"))
    assert not any(failure.message == DIVISION for failure in (
        each for kernel in kernels(program.loaded.plan("main").steps) for each in kernel.failures))
    for count in (0, 1, 2, 37):
        for k in (0, 3):
            xs = (np.arange(count) % 5).astype(np.int32)
            np.testing.assert_array_equal(program.main(xs, k), meaning.main(xs, k))


@pytest.mark.parametrize("device", ["pocl", "oclgrind"])
@pytest.mark.parametrize("body", FAILING.values(), ids=FAILING)
def test_divisions_that_may_fail_do(body: str, device: str) -> None:
    program = runelift.compile(f"entry main [n] (xs: [n]i32) (k: i64): [n]i32 = {body}",
                               device=device, tuning={})
    with pytest.raises(ProgramFailure, match="Division by zero"):
        program.main(np.array([5, 1, 2, 3], np.int32), 0)


def test_arithmetic_that_wraps_proves_nothing() -> None:
    """``i + 1 < n`` holds for the greatest i64, and ``xs[i + 1]`` is outside all the same."""
    source = """
        entry main [n] (is: []i64) (xs: [n]i32) =
          map (\\i -> if 0 <= i && i + 1 < n then xs[i + 1] else 0) is
    """
    assert checks(source)
    program = runelift.compile(source)
    assert program.main(np.array([0, -1], np.int64), np.array([7, 8], np.int32)).tolist() == [8, 0]
    with pytest.raises(ProgramFailure, match="out of bounds"):
        program.main(np.array([2**63 - 1], np.int64), np.array([7, 8], np.int32))


def test_equal_sizes_get_one_name() -> None:
    """``m - i - 1`` and ``m - (i + 1)`` are the same, so that shapes need not be compared."""
    source = """
        entry main [m] (xs: [m]i32): [m]i32 =
          loop ys = copy xs for i < m do
            let rest = m - i - 1
            let tail = map (+ 1) (ys[i + 1:] :> [rest]i32)
            in ys with [i + 1:] = tail
    """
    assert not checks(source)


def test_nothing_else_is_lost() -> None:
    program = runelift.compile("entry main (n: i64): []i32 = tabulate n (\\i -> i32.i64 i)",
                               device="interpreter").compiled.versioned
    assert any(isinstance(s.exp, SegMap) for s in statements(program.funs[0].body))


@pytest.mark.parametrize(("index", "left"), [
    ("i64.max 0 (i64.min (n - 1) i)", []),
    ("i64.max 0 (i64.min (n - 1) (i + 1))", ["min"]),
    ("i64.min (n - 1) (i64.max 0 (i - 1))", ["max"]),
    ("i64.max 0 (i64.min (n - 1) k)", ["max", "min"]),
])
def test_clamping_what_is_inside_does_nothing(index: str, left: list[str]) -> None:
    text = f"entry main [n] (xs: [n]i32) (k: i64) = map (\\i -> xs[{index}] * 2) (iota n)"
    program = runelift.compile(text, device="interpreter")
    found = [stm.exp.op for fun in program.compiled.versioned.funs
             for stm in statements(fun.body) if isinstance(stm.exp, PrimOp)]
    assert sorted(op for op in found if op in ("min", "max")) == left
    for k in (-2, 1, 7):
        args = [np.array([3, 1, 4], np.int32), np.int64(k)]
        (before,) = interpret(program.compiled.core, "main", args)
        (after,) = interpret(program.compiled.versioned, "main", args)
        np.testing.assert_array_equal(before, after)
