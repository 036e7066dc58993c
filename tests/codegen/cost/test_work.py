"""Formulas of work beside exact counts, and on any sizes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import runelift
from runelift.codegen.cost.totals import KernelCost, Work
from runelift.codegen.cost.work import argument_names, work_source
from runelift.codegen.plan.plan import kernels
from runelift.ir import imp
from runelift.ir.imp.work_counts import count_work
from tests.codegen.cost.launches import launches

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.fut"))
FEW = {"matmul", "mapscan", "rows", "radix", "kmeans", "nbody", "conv2d"}
"""The programs that are tried without ``--sweeps``."""
NEAR, SHARE = 1.5, 0.9
"""This share of formulas is within that factor of exact counts."""
ANY = (0, 1, 2, 3, 7, 31, 32, 97, 256, 1009, 10007, 1 << 20)
BELOW = (-1, -2, -31, -1000)
"""What a scalar argument may be as well: a stride, or ``n - 2`` of a short array."""
TRIED = 20
"""The random sizes that each formula is evaluated at."""


def _chosen(sweeps: bool) -> list[Path]:
    return [path for path in EXAMPLES if sweeps or path.stem in FEW]


def _is_near(found: float, exact: float) -> bool:
    return found == exact or exact / NEAR <= found <= exact * NEAR


def test_formulas_agree_with_counts(sweeps: bool) -> None:
    """Operations, and bytes of accesses, of launches whose work does not depend on elements."""
    near = {"arithmetic": 0, "touched": 0}
    compared = 0
    for path in _chosen(sweeps):
        costs = dict[str, KernelCost]()
        for seen in launches(path):
            exact = count_work(seen.kernel, seen.groups, seen.group, seen.known, {})
            if exact.data_dependent:
                continue
            key = f"{seen.kernel.name} {seen.kernel.built_for}"
            if key not in costs:
                costs[key] = KernelCost(work_source(seen.kernel))
            work = costs[key](seen.groups, seen.group, *seen.sizes)
            compared += 1
            near["arithmetic"] += _is_near(work.arithmetic, sum(exact.operations.values()))
            near["touched"] += _is_near(work.touched, exact.accessed)
    assert compared > 250
    assert {name: count / compared for name, count in near.items() if count < SHARE * compared
            } == {}


def _kernels(sweeps: bool) -> Iterator[imp.Kernel]:
    for path in _chosen(sweeps):
        program = runelift.compile(path, tuning={}, runs=False)
        for entry in program.compiled.interfaces:
            for gpu in (False, True):
                yield from kernels(program.compiled.plan(
                    entry, interleave=gpu, coherent=gpu).steps)


def test_formulas_hold_for_all_sizes(sweeps: bool) -> None:
    """No formula raises, and no field is negative."""
    chosen = random.Random(1)
    for kernel in _kernels(sweeps):
        cost = KernelCost(work_source(kernel))
        scalars = len(argument_names(kernel)) - len(kernel.built_for)
        count = 2 + len(kernel.built_for)
        for sizes in ([0] * (count + scalars), [1] * (count + scalars),
                      *(chosen.choices(ANY, k=count) + chosen.choices(ANY + BELOW, k=scalars)
                        for _ in range(TRIED))):
            work = cost(*sizes)
            assert all(field >= 0 for field in work), (kernel.name, sizes, work)
            assert work.items <= sizes[0] * sizes[1]


def test_texts_are_the_same_each_time() -> None:
    kernel = next(_kernels(sweeps=False))
    assert work_source(kernel) == work_source(kernel)


def _work(text: str, kind: str, sizes: Mapping[str, int], groups: int, group: int,
          place: int = 0) -> Work:
    """The work of a kernel of a kind in a program, which is built for 1 in all constants.

    ``sizes`` are its scalar arguments by name.
    """
    program = runelift.compile(text, tuning={}, runs=False)
    plan = program.compiled.plan("main", interleave=True, coherent=True)
    kernel = [k for k in kernels(plan.steps) if k.kind == kind][place]
    scalars = [sizes[p.name.base] for p in kernel.params if isinstance(p, imp.ScalarParam)]
    return KernelCost(work_source(kernel))(groups, group, *[1] * len(kernel.built_for), *scalars)


def test_neighbours_share_sectors() -> None:
    """A sum of rows reads a sector for each work-item, a sum of columns four for each sub-group."""
    rows = "entry main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss"
    work = _work(rows, "segred_small", {"n": 1024, "m": 64}, 4, 256)
    assert work.items == 1024
    assert work.touched == 4 * 1024 * 65
    assert work.read == pytest.approx(4 * 1024 * 64, rel=0.2)
    assert work.apart == pytest.approx(28 * 1024 * 64, rel=0.1)
    assert work.distinct == 4 * 1024 * 65
    assert (work.waits, work.streams) == (0, 64)
    columns = "entry main [n][m] (xss: [m][n]f32): [n]f32 = map f32.sum (transpose xss)"
    work = _work(columns, "segmap", {"n": 1024, "m": 64}, 4, 256)
    assert (work.read, work.apart, work.written) == (4 * 1024 * 64, 0, 4 * 1024)


@pytest.mark.parametrize(("place", "share"), [
    ("i", 1), ("i / 4", 0.25), ("6 * i / 2", 3), ("40 * i / 2", 8), ("i * (i + 1) / 2", 8)])
def test_neighbours_are_as_far_apart_as_quotients(place: str, share: float) -> None:
    """``share``: of 4 bytes, those that a work-item moves to read an element; 8 are a sector."""
    text = f"entry main (n: i64) (xs: []f32) = tabulate n (\\i -> #[unsafe] xs[{place}] + 1)"
    work = _work(text, "segmap_wide", {"n": 256}, 1, 256)
    assert work.read == pytest.approx(4 * 256 * share)


def test_places_that_elements_decide_are_apart() -> None:
    """A gather: indices are read in order, elements at random."""
    gather = ("entry main [n][m] (xs: [m]f32) (is: [n]i64): [n]f32 = "
              "map (\\i -> xs[i & 15]) is")
    work = _work(gather, "segmap_wide", {"n": 1024, "m": 64}, 4, 256)
    assert work.random == 1024
    assert work.read == 8 * 1024
    assert work.waits == 2


BOXES = """entry main [b][p] (near: [b]i64) (xss: [b][p]f32): [b][p]f32 =
  map2 (\\k xs -> map (\\x -> let other = #[unsafe] xss[k]
                           in f32.sum (map (* x) other)) xs) near xss"""


@pytest.mark.parametrize(("p", "random"), [(1024, 0.0), (64, 0.0), (8, 0.1), (1, 1.0)])
def test_work_items_of_a_row_share_what_its_element_decides(p: int, random: float) -> None:
    """The share of accesses at random: neighbours read one row of their box, if it is long."""
    work = _work(BOXES, "segmap", {"b": 4096 // p, "p": p}, 16, 256, place=-1)
    assert work.random == pytest.approx(random * 4096 * p, abs=0.02 * 4096 * p)


def test_classes_of_operations() -> None:
    text = "entry main [n] (xs: [n]f64): [n]f64 = map (\\x -> f64.sqrt (x * x + 1)) xs"
    work = _work(text, "segmap_wide", {"n": 1000}, 4, 256)
    assert (work.special, work.doubles, work.arithmetic) == (1000, 2000, 3000)


def test_only_the_first_groups_have_work() -> None:
    """The share of work-items that pass the test of bounds."""
    text = "entry main [n] (xs: [n]f32): [n]f32 = map (* 2) xs"
    work = _work(text, "segmap_wide", {"n": 1000}, 40, 256)
    assert work.items == pytest.approx(1000)
    assert work.touched == pytest.approx(8000)


def test_a_counter_bounds_a_loop_that_elements_may_end() -> None:
    """Half of the iterations that the bound allows are run, all of them by the longest item."""
    text = ("entry main [n] (xs: [n]f32) (limit: i32): [n]i32 = map (\\x -> let (_, k) = "
            "loop (y, k) = (x, 0i32) while k < limit && y < 4 do (y * y + x, k + 1) in k) xs")
    program = runelift.compile(text, tuning={}, runs=False)
    kernel = next(k for k in kernels(program.compiled.plan(
        "main", interleave=True, coherent=True).steps) if k.kind == "segmap")
    sizes = {"n": 1024, "limit": 100}
    work = KernelCost(work_source(kernel))(4, 256, *[1] * len(kernel.built_for), *(
        sizes.get(p.name.base, 1) for p in kernel.params if isinstance(p, imp.ScalarParam)))
    assert work.arithmetic == 3 * 50 * 1024
    assert work.steps > 4 * 100
