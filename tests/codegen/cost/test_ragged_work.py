"""Formulas of work of kernels over segments that differ in length."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runelift.codegen.cost.totals import KernelCost, Work
from runelift.codegen.cost.work import argument_names, work_source
from runelift.codegen.hostplan.dispatch import lower_segop
from runelift.codegen.plan import plan
from runelift.ir.base.source import Source
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Ragged, Sharing
from runelift.ir.syntax import Level, Param, SegDim, SegRed, Stm
from runelift.ir.types import array_of
from runelift.runtime.compilation.pipeline import compile_source
from tests.codegen.harness import Host
from tests.codegen.segops.test_segred_ragged import Segments

N, M = 10_000, 320_000
GROUP, PARTS = 256, 8


def work_of(sharing: Sharing, longest: int, elements: int = M, *, interleave: bool = True) -> Work:
    """The work of the kernel that reads the elements, for so many in all."""
    s = Segments([1], sharing, Prim.F32)
    most = VName("longest", 9)
    i, j = s.space
    assert isinstance(j.extent, Ragged)
    space = (i, SegDim(j.index, replace(j.extent, longest=most)))
    exp = SegRed(Level.GRID, space, (s.builder.operator("add", Prim.F32, 0.0),),
                 s.body.body(s.x), (Prim.F32,))
    out = Param(s.builder.fresh("out"), array_of((s.n,), Prim.F32))
    types = {p.name: p.type for p in (*s.args, out)} | {most: Prim.I64}
    steps = lower_segop(Stm((out,), exp), Host(types, interleave=interleave), s.builder.names)
    kernel = max(plan.kernels(steps), key=lambda k: k.kind in (
        "merge_rows", "merge_parts", "ragged_rows"))
    lanes = {Sharing.LANES: 8, Sharing.GROUP: 32}.get(sharing, 1)
    group = lanes if sharing is Sharing.GROUP else GROUP
    groups = -(-N * lanes // group)
    if kernel.kind == "merge_parts":
        groups, group = PARTS, 1
    known = {"n": N, "m": elements, "longest": longest, "lanes": lanes, "group": group,
             "subgroup": 32, "steps": N + elements, "parts": PARTS}
    sizes = [known.get(name.base, 1) for name in argument_names(kernel)]
    return KernelCost(work_source(kernel))(groups, group, *sizes)


@pytest.mark.parametrize(("sharing", "most"), [
    (Sharing.ROW, 1.1), (Sharing.LANES, 1.1), (Sharing.GROUP, 1.1), (Sharing.MERGE, 1.1)])
def test_work_grows_with_the_elements(sharing: Sharing, most: float) -> None:
    few, many = work_of(sharing, 100), work_of(sharing, 100, 3 * M)
    assert 2 * M * 0.9 <= many.arithmetic - few.arithmetic <= 2 * M * most
    assert few.touched >= 4 * M


@pytest.mark.parametrize(("sharing", "share"), [
    (Sharing.ROW, 1), (Sharing.LANES, 8), (Sharing.GROUP, 32)])
def test_the_longest_segment_decides_how_long_it_takes(sharing: Sharing, share: int) -> None:
    short, long = work_of(sharing, 100), work_of(sharing, 100_000)
    assert long.arithmetic == short.arithmetic
    assert long.steps * long.uneven - short.steps * short.uneven > 99_000 / share


@pytest.mark.parametrize("mean", [1, 8, 32, 100])
def test_a_work_item_that_walks_looks_each_element_up(mean: int) -> None:
    """Segments shorter than a line of 32 elements share it, and so do look-ups of neighbours."""
    work = work_of(Sharing.ROW, mean, N * mean)
    sectors = N * min(mean, 1 + mean / 8)
    assert work.lookups == pytest.approx((N * mean - sectors) * min(1, mean / 32))
    assert work_of(Sharing.GROUP, mean, N * mean).lookups == 0


def test_bins_take_no_longer_for_a_long_segment() -> None:
    assert work_of(Sharing.MERGE, 100).steps >= work_of(Sharing.MERGE, 100_000).steps


@pytest.mark.parametrize("mean", [1, 8, 32, 63, 64, 1000, 1007])
def test_parts_of_processors_read_each_element_once(mean: int) -> None:
    """Lanes take elements of long segments; a loop takes the rest.  A part finds 4 bytes next."""
    work = work_of(Sharing.MERGE, mean, N * mean, interleave=False)
    lanes = mean // 16 if mean >= 64 else 0
    assert work.arithmetic == pytest.approx(N * (mean + 16 * (lanes > 0)), rel=0.03)
    assert work.walked == pytest.approx(N * mean / 8, rel=0.01, abs=N)
    assert work.random - work.walked < 7 * N  # starts of segments: no load for each element


def test_parts_of_processors_take_less_time_in_lanes() -> None:
    """A lane of 16 elements waits once; so do 63 elements 63 times, and 64 elements four times."""
    few, many = (work_of(Sharing.MERGE, mean, N * mean, interleave=False) for mean in (63, 64))
    assert few.streams > 8 * many.streams


def test_the_longest_segment_is_one_of_many_of_a_work_item() -> None:
    """It is met once, however many segments the work-item walks through."""
    source = "entry main [n] (ks: [n]i64) = map (\\k -> i64.maximum (scan (+) 0 (iota k))) ks"
    host = compile_source(Source("scans", source)).plan("main")
    kernel = next(k for k in plan.kernels(host.steps)
                  if k.kind == "segmap" and any(p.name.base == "stride" for p in k.params))

    def chain(longest: int, items: int) -> float:
        known = {"n": N, "total": M, "longest": longest, "stride": longest + 8}
        work = KernelCost(work_source(kernel))(items, 1, *(
            known.get(name.base, 1) for name in argument_names(kernel)))
        return work.steps * max(1.0, work.uneven)

    mean = M // N
    each = chain(mean, PARTS) / (N // PARTS * mean)  # steps for an element
    for longest in (1000, 100_000):
        for items in (PARTS, N):
            more = chain(longest, items) - chain(mean, items)
            assert more == pytest.approx((longest - mean) * each, rel=0.2)


@pytest.mark.parametrize("element", ["v[c]", "#[unsafe] v[c % k]", "f32.i64 (c / 7)"])
def test_lanes_of_elements_that_may_fail_or_divide_are_no_vectors(element: str) -> None:
    def work(element: str) -> Work:
        source = f"""entry main [n][m][k] (start: [n]i64) (len: [n]i64) (cs: [m]i64) (v: [k]f32) =
            map2 (\\o l -> f32.sum (map (\\c -> {element}) cs[o:o + l])) start len"""
        host = compile_source(Source("gathers", source)).plan("main")
        kernel = next(k for k in plan.kernels(host.steps) if k.kind == "merge_parts")
        known = {"n": N, "total": 1000 * N, "steps": 1001 * N, "parts": PARTS}
        sizes = [known.get(name.base, 1000 * N) for name in argument_names(kernel)]
        return KernelCost(work_source(kernel))(PARTS, 1, *sizes)

    scalar, vector = work(element), work("#[unsafe] v[c]")
    assert scalar.private > vector.private == 0
    assert scalar.streams > 8 * vector.streams
