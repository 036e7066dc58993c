"""Checks that no iteration changes run before their loop, and slices stay inside of memory."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.codegen.passes.invariant_checks import runs_ever, with_early_checks
from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.imp.traverse import expressions, statements, subexpressions
from runelift.ir.interpret import interpret
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import i64
from runelift.runtime.tools.races.checks import RaceChecks

ROWS = """\
entry main [n][m] (start: [n]i64) (len: [n]i64) (xs: [m]f32): [n]f32 =
  map2 (\\o l -> f32.sum xs[o:o + l]) start len
"""
N, AT, X, OK = (VName(base, tag) for tag, base in enumerate(("n", "i", "x", "ok"), 1))
CHECK = imp.If(imp.Apply("not", Prim.BOOL, (imp.Var(OK),)), (imp.Fail(0, ()),))


def loop(index: imp.Exp) -> imp.For:
    """A loop that loads an element, checks it, and writes it."""
    read = imp.Load(X, index, Prim.I64)
    return imp.For(AT, imp.Lit(i64(0)), imp.Var(N), imp.Lit(i64(1)), (
        imp.Declare(OK, Prim.BOOL, imp.Apply("lt", Prim.I64, (read, imp.Var(N)))), CHECK,
        imp.Store(VName("out", 9), imp.Var(AT), imp.Var(N), Prim.I64)))


def test_a_check_that_stays_runs_before_the_loop_if_that_runs_ever() -> None:
    (found,) = with_early_checks([loop(imp.Var(N))])
    assert isinstance(found, imp.If)
    *early, rest = found.then_
    assert found.cond == runs_ever([rest])
    assert early[-1] == CHECK
    assert isinstance(rest, imp.For)
    assert not any(isinstance(stm, imp.Fail) for stm in statements(rest.body))


def test_checks_that_change_stay_in_the_loop() -> None:
    assert with_early_checks([loop(imp.Var(AT))]) == [loop(imp.Var(AT))]
    written = imp.Store(X, imp.Var(AT), imp.Var(AT), Prim.I64)
    changing = loop(imp.Var(N))
    assert with_early_checks([changing, written]) == [changing, written]


def test_slices_beyond_an_array_fail_and_read_nothing_outside() -> None:
    program = runelift.compile(ROWS, tuning={}, runs=False)
    checks = RaceChecks(program)  # their interpreter knows the end of each memory
    args = [np.array([0, 2, 1]), np.array([3, 40, 1]), np.ones(5, np.float32)]
    for form in checks.forms("main"):
        for _, force in checks.versions("main", each=True):
            with pytest.raises(ProgramFailure, match=r"Index \[2:42\] out of bounds"):
                form.run(args, force, 60.0)


SLICES = {
    "a length that the check may change": "map2 (\\o l -> i64.sum xs[o:o + l]) start len",
    "a length of the host": "map2 (\\o l -> l + i64.sum xs[o:o + n]) start len",
    "two slices": "map2 (\\o l -> i64.sum (map2 (*) xs[o:o + l] xs[l:l + l + o - o])) start len",
    "a loop": "map2 (\\o l -> loop s = 0 for x in xs[o:o + l] do s * 3 + x) start len",
    "rows": "map2 (\\o l -> i64.sum (map i64.sum pairs[o:o + l])) start len",
    "a scan": "map2 (\\o l -> i64.maximum (#[sequential] scan (+) 0 xs[o:o + l])) start len",
}


@pytest.mark.parametrize("name", SLICES)
def test_elements_of_a_slice_in_turn_are_plain_loads(name: str) -> None:
    """A loop asks once whether its slice is inside of the array, and then runs, or does not."""
    program = runelift.compile(f"""
        entry main [n][m] (start: [n]i64) (len: [n]i64) (xs: [m]i64): [n]i64 =
          let pairs = map (\\x -> [x, x * x]) xs
          in {SLICES[name]}""", tuning={}, runs=False)
    loops = [stm for kernel in plan.kernels(program.compiled.plan("main").steps)
             if kernel.name.startswith("segmap_") for stm in statements(kernel.body)
             if isinstance(stm, imp.For)]
    assert loops
    for each in loops:
        asked = {exp.cond.name.base for stm in statements(each.body)
                 for exp in subexpressions(*expressions(stm))
                 if isinstance(exp, imp.Select) and isinstance(exp.cond, imp.Var)}
        assert "inside" not in asked
    checks = RaceChecks(program)
    good = [np.array([0, 2, 1]), np.array([3, 1, 1]), np.arange(6)]
    for form in checks.forms("main"):
        for _, force in checks.versions("main", each=True):
            np.testing.assert_array_equal(form.run(good, force, 60.0)[0], interpret(
                program.compiled.core, "main", good)[0])
            with pytest.raises(ProgramFailure, match=r"out of bounds"):
                form.run([good[0] + 4, good[1] + 3, good[2]], force, 60.0)
