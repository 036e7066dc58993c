"""Scans of segments that differ in length: nothing passes from one to the next."""

from __future__ import annotations

from typing import Any

import pytest

from runelift.codegen.plan import plan
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Sharing
from runelift.ir.syntax import Level, Operator, SegScan
from runelift.ir.types import array_of
from tests.codegen.harness import CHUNK, LOCKSTEP, PATIENCE, WINDOW, agree
from tests.codegen.segops.test_segred_ragged import LENGTHS, Segments, failed

WAYS: dict[str, dict[VName, int]] = {
    "cores": {LOCKSTEP: 0}, "two passes": {LOCKSTEP: 1},
    "one pass": {LOCKSTEP: 1, PATIENCE: 1 << 20}}

I64 = Prim.I64


def check(s: Segments, ops: tuple[Operator, ...], *values: Any, device: dict[VName, int]) -> None:
    """Kernels and interpreter agree about a scan of values."""
    exp = SegScan(Level.GRID, s.space, ops, s.body.body(*values), (I64,) * len(values))
    agree(exp, [array_of((s.m,), I64)] * len(values), s.args, s.builder.names, device, "Portable")


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("way", WAYS)
def test_pairs_in_order_with_results_for_elements(name: str, way: str) -> None:
    s = Segments(LENGTHS[name], Sharing.FLAT)
    check(s, (s.builder.affine(), s.builder.operator("min", I64, 2**62)), s.x, s.place, s.x,
          s.body.add(s.x, s.place), device=WAYS[way])


@pytest.mark.parametrize("name", ["huge", "runs of empty", "none"])
def test_a_work_item_per_segment(name: str) -> None:
    s = Segments(LENGTHS[name], Sharing.ROW)
    check(s, (s.builder.affine(),), s.x, s.place, s.x, device={LOCKSTEP: 0})


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("group", [1, 32, 256])
@pytest.mark.parametrize("chunk", [1, 3])
@pytest.mark.parametrize("way", ["two passes", "one pass"])
def test_tiles_of_any_size(group: int, chunk: int, way: str) -> None:
    s = Segments(LENGTHS["huge"], Sharing.FLAT)
    check(s, (s.builder.operator("add", I64, 0),), s.x, device={
        **WAYS[way], plan.GROUP_SIZE: group, CHUNK: chunk, WINDOW: min(group, 4)})


def test_processors_carry_totals_from_part_to_part() -> None:
    s = Segments([0, 9000, 3, 0, 4000, 1], Sharing.FLAT)
    check(s, (s.builder.affine(),), s.x, s.place, device={LOCKSTEP: 0, plan.NUM_GROUPS: 3})


@pytest.mark.parametrize("way", WAYS)
def test_a_group_sees_one_answer_about_failures(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another group may fail meanwhile.  The first work-item asks for all of its group."""
    failed(monkeypatch, lambda number: number > 0)
    s = Segments(LENGTHS["huge"], Sharing.FLAT)
    check(s, (s.builder.affine(),), s.x, s.place, device=WAYS[way])
