"""Loops that are reductions, and loops that are not."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.frontend.load import load
from runelift.ir import syntax as ir
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.rewrite.pipeline import optimise
from tests.replays import results_agree
from tests.rewrite.passes.test_filters import statements

XS = np.array([3, -1, 4, 1, 5, 9, 2, 6], np.int32)
SUMS = {
    "sum": "loop s = 7 for x in xs do s + x * x",
    "two": "loop (s, t) = (1, 100) for i < n do (xs[i] * s, i32.min t xs[i])",
    "bits": "loop (a, b) = (true, 0) for x in xs do (a && x > 0, b ^ x)",
    "chosen": "loop s = 0 for x in xs do s + (if x > 3 then 1 else 0)",
}
LOOPS = {
    "value used": "loop s = 0 for x in xs do s + (if s > 3 then x else 1)",
    "other value used": "loop (s, t) = (0, 0) for x in xs do (s + x, t + s)",
    "doubled": "loop s = 0 for x in xs do s * 2 + x",
    "difference": "loop s = 0 for x in xs do x - s",
    "floats": "loop s = 0 for x in xs do s + f32.i32 x",
}


def text(body: str) -> str:
    return f"entry main [n] (xs: [n]i32) = {body}"


def has(kind: type, body: str) -> bool:
    names = Names()
    (fun,) = optimise(load(Source("t", text(body)), names), names).funs
    return any(isinstance(stm.exp, kind) for stm in statements(fun.body))


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_integers_are_reductions(name: str) -> None:
    assert has(ir.Redomap, SUMS[name])
    assert not has(ir.Loop, SUMS[name])


@pytest.mark.parametrize("name", LOOPS)
def test_other_loops_stay(name: str) -> None:
    assert has(ir.Loop, LOOPS[name])


@pytest.mark.parametrize("name", [*SUMS, *LOOPS])
@pytest.mark.parametrize("count", [8, 1, 0])
def test_results_are_those_of_the_core(name: str, count: int) -> None:
    body = {**SUMS, **LOOPS}[name]
    core = load(Source("t", text(body)), Names())
    results_agree(runelift.compile(text(body)), "main", [XS[:count]],
                  interpret(core, "main", [XS[:count]]))
