"""Reductions of segments that differ in length, by all who may share a segment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runelift.codegen.plan import plan
from runelift.codegen.segops import segred_bins
from runelift.ir.imp import Id
from runelift.ir.imp.interpret import _Item
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Ragged, Sharing
from runelift.ir.syntax import Index, Level, Operator, Param, SegDim, SegRed, Stm
from runelift.ir.types import ArrayType, array_of
from tests.codegen.harness import (
    COHERENT,
    DEVICE,
    LOCKSTEP,
    MODEL,
    Builder,
    agree,
    lowered_results,
)

I64 = Prim.I64
REDUCING = [Sharing.ROW, Sharing.LANES, Sharing.GROUP, Sharing.MERGE]
WAYS: dict[str, dict[VName, int]] = {"cores": {LOCKSTEP: 0}, "lockstep": {LOCKSTEP: 1}}
LENGTHS = {
    "none": [], "one": [5], "empty": [0], "all empty": [0] * 9, "one element": [0, 0, 1, 0],
    "equal": [4] * 7, "first and last empty": [0, 3, 1, 0, 2, 0], "huge": [0, 1, 97, 0, 0, 2],
    "runs of empty": [2, *[0] * 20, 3, *[0] * 15], "ascending": list(range(14)),
    "huge first": [60, 1, 0, 1], "huge last": [1, 0, 70], "singles": [1] * 33,
}


class Segments:
    """Segments of some lengths, an ``x`` at each element, and the sum of ``x`` and its place."""

    def __init__(self, lengths: list[int], sharing: Sharing, prim: Prim = I64) -> None:
        self.builder = b = Builder()
        self.n, self.m, more = (b.fresh(base) for base in ("n", "m", "more"))
        lens, offs, xs = (b.fresh(base) for base in ("len", "off", "xs"))
        i, j = b.fresh("i"), b.fresh("j")
        self.space = (SegDim(i, self.n), SegDim(j, Ragged(lens, self.m, offs, sharing)))
        ends = np.cumsum([0, *lengths])
        data = np.random.default_rng(len(lengths)).integers(-9, 10, ends[-1]).astype(prim.dtype)
        self.args: dict[Param, Any] = {
            Param(self.n, I64): len(lengths), Param(self.m, I64): int(ends[-1]),
            Param(more, I64): len(lengths) + 1,
            Param(lens, ArrayType(I64, (self.n,))): np.array(lengths, np.int64),
            Param(offs, ArrayType(I64, (more,))): ends,
            Param(xs, ArrayType(prim, (self.m,))): data}
        self.body = b.inner()
        start, own = (self.body.let(I64, Index(array, (i,))) for array in (offs, lens))
        self.x = self.body.let(prim, Index(xs, (self.body.add(start, j),)))
        self.place = self.body.add(self.body.mul(i, own), j)

    def check(self, ops: tuple[Operator, ...], *values: Any, kept: int = 0, prim: Prim = I64,
              device: dict[Any, int] | None = None, on: str = "Portable") -> None:
        """Kernels and interpreter agree; the last ``kept`` values are results for elements."""
        ret = (prim,) * len(values)
        types = [array_of((self.n,), prim)] * (len(values) - kept) + [
            array_of((self.m,), prim)] * kept
        agree(SegRed(Level.GRID, self.space, ops, self.body.body(*values), ret), types, self.args,
              self.builder.names, device, on)


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("sharing", REDUCING, ids=lambda s: s.value)
@pytest.mark.parametrize("lockstep", [0, 1])
def test_sums_of_segments(name: str, sharing: Sharing, lockstep: int) -> None:
    s = Segments(LENGTHS[name], sharing)
    s.check((s.builder.operator("add", I64, 0),), s.body.mul(s.x, s.place),
            device={LOCKSTEP: lockstep})


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("sharing", REDUCING, ids=lambda s: s.value)
@pytest.mark.parametrize("lockstep", [0, 1])
def test_pairs_in_order_with_results_for_elements(name: str, sharing: Sharing,
                                                  lockstep: int) -> None:
    s = Segments(LENGTHS[name], sharing)
    ops = (s.builder.affine(), s.builder.operator("min", I64, 2**62))
    s.check(ops, s.x, s.place, s.x, s.body.add(s.x, s.place), kept=1, device={LOCKSTEP: lockstep})


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("coherent", [0, 1])
@pytest.mark.parametrize("group", [4, 32, 1])
@pytest.mark.parametrize("bounds", [(1, 1, 1), (1, 2, 3), (2, 8, 5), (16, 20, 7)])
@pytest.mark.parametrize("name", ["huge", "runs of empty", "none", "ascending", "huge last"])
def test_bins_of_any_bounds(coherent: int, group: int, bounds: tuple[int, int, int], name: str,
                            monkeypatch: pytest.MonkeyPatch) -> None:
    """Short, long and very long segments; some of one piece, and some of many."""
    for bound, value in zip(("SHARE", "LONG", "PIECE"), bounds, strict=True):
        monkeypatch.setattr(segred_bins, bound, value)
    s = Segments(LENGTHS[name], Sharing.MERGE)
    s.check((s.builder.affine(),), s.x, s.place, s.x, s.body.add(s.x, s.place), kept=2,
            device={LOCKSTEP: 1, COHERENT: coherent, plan.GROUP_SIZE: group})


@pytest.mark.parametrize("group", [1, 32, 256])
@pytest.mark.parametrize("sharing", REDUCING, ids=lambda s: s.value)
def test_groups_of_any_size(group: int, sharing: Sharing) -> None:
    for lockstep in (0, 1):
        s = Segments(LENGTHS["huge"], sharing)
        s.check((s.builder.affine(),), s.x, s.place,
                device={LOCKSTEP: lockstep, plan.GROUP_SIZE: group})


def test_many_parts_of_a_processor() -> None:
    """Further work-items get parts where there are enough steps."""
    s = Segments([0, 9000, 3, 0, 4000, 1], Sharing.MERGE)
    s.check((s.builder.affine(),), s.x, s.place, device={plan.NUM_GROUPS: 3})


def failed(monkeypatch: pytest.MonkeyPatch, sees: Callable[[int], bool]) -> None:
    """Let the work-items with these numbers in their groups see that a kernel has failed."""
    usual = _Item._id
    monkeypatch.setattr(_Item, "_id", lambda item, kind: (
        -1 + sees(item.number) if kind is Id.FAILURE else usual(item, kind)))


@pytest.mark.parametrize("sharing", REDUCING[1:], ids=lambda s: s.value)
@pytest.mark.parametrize("way", WAYS)
def test_no_element_is_read_after_a_failure(sharing: Sharing, way: str,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """There are none: the interpreter of kernels would complain."""
    failed(monkeypatch, lambda _: True)
    s = Segments(LENGTHS["huge"], sharing)
    xs = next(param for param in s.args if param.name.base == "xs")
    exp = SegRed(Level.GRID, s.space, (s.builder.operator("add", I64, 0),), s.body.body(s.x),
                 (I64,))
    stm = Stm((Param(s.builder.fresh("out"), array_of((s.n,), I64)),), exp)
    (found,) = lowered_results(stm, s.args | {xs: np.zeros(0, np.int64)}, s.builder.names,
                               {**DEVICE, **WAYS[way]}, MODEL)
    assert not found.any()


@pytest.mark.parametrize("coherent", [0, 1])
def test_work_items_may_see_different_answers_about_failures(
        coherent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another group may fail meanwhile.  All work-items meet at barriers nevertheless."""
    monkeypatch.setattr(segred_bins, "LONG", 4)
    failed(monkeypatch, lambda number: number % 3 > 0)
    s = Segments(LENGTHS["huge"], Sharing.MERGE)
    exp = SegRed(Level.GRID, s.space, (s.builder.operator("add", I64, 0),), s.body.body(s.x),
                 (I64,))
    stm = Stm((Param(s.builder.fresh("out"), array_of((s.n,), I64)),), exp)
    (found,) = lowered_results(stm, s.args, s.builder.names, {
        **DEVICE, LOCKSTEP: 1, COHERENT: coherent}, MODEL)
    assert found.shape == (len(LENGTHS["huge"]),)


@pytest.mark.parametrize("sharing", REDUCING, ids=lambda s: s.value)
def test_a_simulator_finds_no_race(sharing: Sharing) -> None:
    s = Segments(LENGTHS["huge"], sharing)
    s.check((s.builder.affine(),), s.x, s.place, on="Oclgrind")
