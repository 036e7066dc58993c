"""Scans in one pass, whose groups look back at each other's totals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.base.errors import CompilerBug, ProgramFailure
from runelift.ir.imp.check import check as imp_check
from runelift.ir.imp.pretty import pretty
from runelift.ir.imp.traverse import statements
from runelift.ir.prim import Prim
from runelift.ir.syntax import Index, Level, Operator, Param, SegDim, SegScan, Stm
from runelift.ir.types import ArrayType, Const
from tests.codegen.harness import (
    CHUNK,
    DEVICE,
    MODEL,
    PATIENCE,
    STAGED,
    WINDOW,
    Builder,
    Machine,
    agree,
    interpreted,
    lowered_results,
)
from tests.ir.imp.parse import parse

SMALL = {plan.GROUP_SIZE: 4, CHUNK: 3, WINDOW: 3, PATIENCE: 1 << 20}
"""Tiles of 12 elements, so that hundreds of elements are many of them."""


class Line:
    """An array of ``n`` elements of a type, and a scan of it with an operator."""

    def __init__(self, prim: Prim, n: int) -> None:
        self.builder = Builder()
        self.n, self.i, self.xs = (self.builder.fresh(base) for base in ("n", "i", "xs"))
        self.type = ArrayType(prim, (self.n,))
        low, high = (0, 2) if prim is Prim.BOOL else (0, 10) if not prim.is_signed else (-9, 10)
        data = np.random.default_rng(n).integers(low, high, n).astype(prim.dtype)
        self.args: dict[Param, Any] = {Param(self.n, Prim.I64): n, Param(self.xs, self.type): data}

    def scan(self, operator: Operator, values: int = 1) -> SegScan:
        """The scan of ``values`` copies of each element."""
        body = self.builder.inner()
        x = body.let(self.type.elem, Index(self.xs, (self.i,)))
        return SegScan(Level.GRID, (SegDim(self.i, self.n),), (operator,),
                       body.body(*[x] * values), (self.type.elem,) * values)

    def sums(self) -> SegScan:
        """The scan with addition."""
        return self.scan(self.builder.operator("add", self.type.elem, 0))

    def statement(self, exp: SegScan) -> Stm:
        return Stm(tuple(Param(self.builder.fresh("out"), self.type) for _ in exp.ret), exp)


@pytest.mark.parametrize("prim", list(Prim), ids=str)
def test_values_of_every_type_travel_in_words(prim: Prim) -> None:
    line = Line(prim, 200)
    name, neutral = ("or", False) if prim is Prim.BOOL else ("add", 0)
    agree(line.scan(line.builder.operator(name, prim, neutral)), [line.type], line.args,
          line.builder.names, SMALL)


@pytest.mark.parametrize("prim", [Prim.F32, Prim.F64], ids=str)
def test_infinities_and_signs_of_floats_travel_too(prim: Prim) -> None:
    line = Line(prim, 60)
    exp = line.scan(line.builder.operator("min", prim, float("inf")))
    (data,) = (v for p, v in line.args.items() if p.name == line.xs)
    data[:] = np.inf
    data[-1] = -np.inf
    agree(exp, [line.type], line.args, line.builder.names, SMALL)


@pytest.mark.parametrize("n", [0, 1, 11, 12, 13, 35, 36, 37, 48, 49, 500])
@pytest.mark.parametrize("on", ["Oclgrind", "Portable"])
def test_order_at_the_borders_of_tiles(n: int, on: str) -> None:
    line = Line(Prim.I32, n)
    agree(line.scan(line.builder.affine(Prim.I32), 2), [line.type] * 2, line.args,
          line.builder.names, SMALL, on)


@pytest.mark.parametrize("window", [1, 2, 8])
@pytest.mark.parametrize("staged", [0, 1])
def test_any_window_does(window: int, staged: int) -> None:
    line = Line(Prim.I64, 300)
    agree(line.scan(line.builder.affine(), 2), [line.type] * 2, line.args, line.builder.names,
          {plan.GROUP_SIZE: 8, CHUNK: 2, STAGED: staged, WINDOW: window, PATIENCE: 1 << 20})


def _statuses(steps: Sequence[plan.Step]) -> plan.AllocScanStatus:
    return next(s for s in plan.all_steps(steps) if isinstance(s, plan.AllocScanStatus))


def _starting_with(words: Callable[[int], np.ndarray[Any, Any]], runs: int = 0) -> Any:
    """Before the run: statuses with these words, and a few runs that leave theirs."""
    def before(machine: Machine, steps: Sequence[plan.Step]) -> None:
        machine.put(_statuses(steps).name, words(1000))
        for _ in range(runs):
            machine.run(steps)
    return before


@pytest.mark.parametrize("on", [MODEL, "Portable"])
@pytest.mark.parametrize("epoch", [0, (1 << 30) - 2, (1 << 32) - 2])
def test_statuses_of_earlier_scans_do_not_count(on: str, epoch: int) -> None:
    """Also where epochs begin anew; statuses of all kinds are left from before."""
    line = Line(Prim.I64, 200)
    stm = line.statement(line.sums())
    garbage = np.random.default_rng(0)

    def words(count: int) -> np.ndarray[Any, Any]:
        stale = garbage.integers(1, 1000, count).astype(np.uint64)
        kinds = (4 * (epoch - stale) + stale % 3) % (1 << 32)
        held = (kinds << np.uint64(32)) + stale
        held[0] = epoch << 32
        return held

    (found,) = lowered_results(stm, line.args, line.builder.names, {**DEVICE, **SMALL}, on,
                               _starting_with(words, runs=3))
    np.testing.assert_array_equal(found, interpreted(stm, line.args)[0])


@pytest.mark.parametrize("on", [MODEL, "Oclgrind", "Portable"])
def test_a_tile_that_never_comes_is_a_failure_and_no_hang(on: str) -> None:
    """The count of tiles says that somebody has taken the first."""
    def words(count: int) -> np.ndarray[Any, Any]:
        return np.array([1, *[0] * (count - 1)], np.uint64)

    line = Line(Prim.I32, 40)
    with pytest.raises(ProgramFailure, match="did not finish an earlier part of a scan"):
        lowered_results(line.statement(line.sums()), line.args, line.builder.names,
                        {**DEVICE, **SMALL, PATIENCE: 50}, on, _starting_with(words))


def test_sums_of_floats_are_the_same_in_every_run() -> None:
    """Although it depends on timing how many tiles a group looks back at."""
    line = Line(Prim.F32, 900)
    (data,) = (v for p, v in line.args.items() if p.name == line.xs)
    data[:] = np.random.default_rng(1).random(len(data))
    exp, results = line.sums(), []
    for on in ["Portable"] * 5:  # others may have sub-groups, which put sums together otherwise
        results += lowered_results(line.statement(exp), line.args, line.builder.names,
                                   {**DEVICE, **SMALL}, on)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_the_kernel_can_be_printed_and_read_back() -> None:
    line, kernels = Line(Prim.I32, 30), list[imp.Kernel]()

    def keep(machine: Machine, steps: Sequence[plan.Step]) -> None:
        kernels.extend(plan.kernels(steps))

    lowered_results(line.statement(line.sums()), line.args, line.builder.names,
                    {**DEVICE, **SMALL}, MODEL, keep)
    once = kernels[0]
    assert any(isinstance(s, imp.Peek) for s in statements(once.body))
    assert parse(pretty([once])) == (once,)


def test_only_words_of_64_bits_are_read_while_others_write_them() -> None:
    line = Line(Prim.I32, 1)
    peek = imp.Peek(line.builder.fresh("word"), Prim.I32, line.xs, imp.Lit(Const(0, Prim.I64)))
    kernel = imp.Kernel("k", (imp.BufferParam(line.xs, Prim.I32, True),), (), (peek,))
    with pytest.raises(CompilerBug, match="no device peeks at a i32"):
        imp_check(kernel)
