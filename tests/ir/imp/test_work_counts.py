"""Counts of work beside what the interpreter of kernels does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir import imp
from runelift.ir.imp import interpret
from runelift.ir.imp.interpret import Launch, Reported
from runelift.ir.imp.traverse import statements
from runelift.ir.imp.work_counts import UNCOUNTED, Work, count_work
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import Const, i64
from runelift.runtime.tools.races.checks import RaceChecks
from runelift.runtime.tools.races.interpreted_run import InterpretedRun
from tests.runtime.tools.races.deletion import arguments

PROGRAMS = {
    "rows": ("entry main [n][m] (xss: [n][m]f32): [n]f32 = "
             "map (\\xs -> reduce (+) 0 (map (\\x -> x * x) xs)) xss", (5, 37)),
    "product": ("entry main [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 = map (\\xs -> "
                "map (\\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose yss)) xss", (9, 20, 11)),
    "scan": ("entry main [n][m] (xss: [n][m]f32): [n][m]f32 = map (scan (+) 0) xss", (3, 45)),
    "bins": ("entry main [n] (xs: [n]i64): [4]f32 = reduce_by_index (replicate 4 0) (+) 0 "
             "(map (& 3) xs) (map f32.i64 xs)", (70,)),
    "triangle": ("entry main [n] (xs: [n]f32): [n]f32 = map (\\i -> "
                 "loop a = 0 for j < i do a + xs[j]) (iota n)", (13,)),
}


class Seen:
    """What the interpreter did in a launch: bytes of global memory, and operations on floats."""

    bytes = 0
    operations = 0


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Counts of the interpreter."""
    found, (touch, value) = Seen(), (interpret._Item.touch, interpret._Item.value)

    def touched(self: Any, memory: Any, cell: int, kind: Any) -> None:
        if memory.name in self.machine.buffers:
            found.bytes += memory.cells.itemsize * (1 + (kind.name == "ATOMIC"))
        touch(self, memory, cell, kind)

    def evaluated(self: Any, exp: imp.Exp) -> Any:
        if isinstance(exp, imp.Apply) and exp.prim.is_float and exp.op not in UNCOUNTED:
            found.operations += 1
        return value(self, exp)

    monkeypatch.setattr(interpret._Item, "touch", touched)
    monkeypatch.setattr(interpret._Item, "value", evaluated)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_accesses_and_operations_are_those_of_the_interpreter(name: str, seen: Seen) -> None:
    compared = Counter[str]()

    class Counting(InterpretedRun):
        def interpret(self, kernel: imp.Kernel, launch: Launch) -> Reported | None:
            buffers = {name: each.nbytes for name, each in launch.args.items()
                       if isinstance(each, np.ndarray)}
            work = count_work(kernel, launch.groups, launch.group_size,
                              {**launch.args, **launch.constants}, buffers)
            seen.bytes = seen.operations = 0
            reported = super().interpret(kernel, launch)
            peeks = any(isinstance(stm, imp.Peek) for stm in statements(kernel.body))
            if not (work.data_dependent or work.sampled or peeks):
                compared[kernel.kind] += 1
                assert work.accessed == pytest.approx(seen.bytes), kernel.name
                assert _floats(work) == pytest.approx(seen.operations), kernel.name
                assert work.bytes <= work.accessed
            return reported

    text, sizes = PROGRAMS[name]
    checks = RaceChecks(runelift.compile(text, tuning={}, runs=False))
    for form in checks.forms("main"):
        for _, force in checks.versions("main", each=True):
            form.run(arguments(form.plan, sizes), force, 60.0, Counting)
    assert compared


def _floats(work: Work) -> float:
    return sum(count for prim, count in work.operations.items() if prim.is_float)


XS, K, J, N = VName("xs", 1), VName("k", 2), VName("j", 3), VName("n", 4)
GID = imp.WorkItem(imp.Id.GLOBAL_ID)


def lit(value: int) -> imp.Exp:
    return imp.Lit(i64(value))


def kernel(*body: imp.Stm) -> imp.Kernel:
    return imp.Kernel("k", (imp.BufferParam(XS, Prim.F32, written=True),
                            imp.ScalarParam(N, Prim.I64)), (), body)


def store(index: imp.Exp) -> imp.Stm:
    return imp.Store(XS, index, imp.Lit(Const(1.0, Prim.F32)), Prim.F32)


def test_a_long_triangle_is_sampled_and_right_on_average() -> None:
    inner = imp.For(J, lit(0), imp.Var(K), lit(1), (store(imp.Var(J)),))
    found = count_work(kernel(imp.For(K, lit(0), imp.Var(N), lit(1), (inner,))), 1, 1,
                       {N: 1001}, {XS: 4000})
    assert found.sampled
    assert found.accessed == pytest.approx(4 * 1001 * 1000 / 2)
    assert found.bytes == 4000


def test_a_part_of_a_buffer_counts_as_a_part() -> None:
    found = count_work(kernel(imp.For(J, lit(0), lit(100), lit(1), (store(GID),))), 2, 8, {N: 1},
                       {XS: 1 << 20})
    assert (found.accessed, found.bytes) == (2 * 8 * 100 * 4, 2 * 8 * 4)


def test_branches_on_elements_count_half_but_for_failures() -> None:
    element = imp.Apply("lt", Prim.F32, (imp.Load(XS, GID, Prim.F32), imp.Load(XS, GID, Prim.F32)))
    half = count_work(kernel(imp.If(element, (store(GID),))), 1, 8, {N: 1}, {XS: 32})
    assert (half.data_dependent, sum(half.stores.values())) == (True, 4 * 8 / 2)
    fails = count_work(kernel(imp.If(element, (store(GID),), (imp.Fail(0, ()),))), 1, 8, {N: 1},
                       {XS: 32})
    assert (fails.data_dependent, sum(fails.stores.values())) == (False, 4 * 8)


def test_indices_are_no_operations_but_stored_integers_are() -> None:
    place = imp.Declare(K, Prim.I64, imp.Apply("mul", Prim.I64, (GID, lit(2))))
    indices = count_work(kernel(place, store(imp.Var(K))), 1, 4, {N: 1}, {XS: 64})
    assert not any(indices.operations.values())
    stored = imp.Store(XS, GID, imp.Convert(Prim.I64, Prim.F32, imp.Var(K)), Prim.F32)
    values = count_work(kernel(place, stored), 1, 4, {N: 1}, {XS: 64})
    assert values.operations == {Prim.I64: 4.0}
