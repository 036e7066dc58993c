"""Spellings of one meaning: equal results in all versions, and equal classes of kernels."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.codegen.plan.kernel_classes import CLASSES, Work, render, work_of
from runelift.ir import imp
from runelift.ir.base.errors import VersionUnavailable
from runelift.ir.base.files import read_source
from runelift.ir.imp.pretty import pretty
from runelift.ir.interpret import interpret, last_version
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.versions.forest import entry_forest, plans

HERE = Path(__file__).parent
SHAPES: dict[str, list[list[tuple[int, ...] | int]]] = {
    "product": [[(3, 4), (4, 2)], [(17, 33), (33, 19)], [(1, 0), (0, 3)]],
    "convolution": [[(2, 5, 4), (3, 2, 3, 3)], [(1, 9, 20), (2, 1, 3, 3)]],
    "padded_convolution": [[(2, 4, 3), (3, 2, 3, 3)], [(1, 9, 20), (2, 1, 3, 3)],
                           [(3, 1, 1), (1, 3, 3, 3)]],
    "stencil": [[(3, 4)], [(1, 1)], [(17, 40)]],
    "row_sums": [[(3, 4)], [(1, 70)], [(40, 3)], [(2, 0)]],
    "histogram": [[5, (3, 4)], [40, (9, 31)], [1, (0, 3)]],
    "prefix_sums": [[(3, 4)], [(1, 70)], [(40, 3)], [(0, 2)]],
    "transposed": [[(3, 4)], [(1, 70)], [(40, 3)], [(0, 2)]],
    "vectors": [[(4, 3)], [(1, 3)], [(150, 3)], [(0, 3)]],
    "time_loop": [[3, (5,)], [0, (2,)], [4, (70,)]],
    "extremes": [[(9,)], [(0,)], [(700,)]],
    "matrix_vector": [[(3, 4), (4,)], [(1, 0), (0,)], [(40, 70), (70,)]],
    "distances": [[(3, 2), (4, 2)], [(1, 3), (0, 3)], [(17, 5), (33, 5)]],
    "averages": [[(3, 6)], [(2, 4)], [(17, 70)]],
    "dot": [[(9,), (9,)], [(0,), (0,)], [(3000,), (3000,)]],
    "normalised": [[(3, 4)], [(2, 0)], [(9, 70)]],
    "softmax": [[(3, 4)], [(2, 1)], [(9, 70)]],
    "counts": [[(9,)], [(0,)], [(700,)]],
}
"""The shapes of the arguments of each family; a number stands for itself."""
ELEMENTS = {"histogram": np.int32, "prefix_sums": np.int32, "counts": np.int32}
ROUNDING = {"normalised": 1e-5, "softmax": 1e-5}
"""The relative errors of families that divide or take roots, which devices round otherwise."""
IN_ORDER = {"looped"}
"""Spellings that say in which order elements are combined, so that no reduction may replace them.
"""
SCALARS = "reductions of several scalars, with as few launches and stored arrays"
STORED = "keeps elements that others compute again, with as few launches and stored arrays"
ELSEWHERE = {
    ("normalised", "centred"): STORED,
    ("softmax", "indices"): STORED,
    **{("vectors", name): SCALARS for name in ("tuples", "of_records", "separate")},
    ("extremes", "two_sums"): "goes through the elements twice",
    ("extremes", "kept_outside"): "reads elements at places that it finds",
    ("dot", "blocks"): "says itself how elements are divided among work-items",
}
"""Spellings that do not reach the class of their family yet, and why."""


@cache
def compiled(family: str) -> Compiled:
    """The compiled family."""
    return compile_source(read_source(HERE / f"{family}.fut"))


def arguments(family: str, shapes: list[tuple[int, ...] | int]) -> list[Any]:
    """Arguments whose elements are small whole numbers, so that sums do not depend on order."""
    random, bins = np.random.default_rng(7), 5
    found: list[Any] = []
    for shape in shapes:
        if isinstance(shape, int):
            bins = shape if family == "histogram" else bins
            found.append(np.int64(shape))
        else:
            found.append(random.integers(0, bins, shape).astype(ELEMENTS.get(family, np.float32)))
    return found


@pytest.mark.parametrize("family", SHAPES)
def test_all_spellings_compute_the_same(family: str) -> None:
    core = compiled(family).core
    for shapes in SHAPES[family]:
        args = arguments(family, shapes)
        results = {fun.name: interpret(core, fun.name, args)[::-1] for fun in core.funs}
        first, *others = results
        for name in others:  # sizes come first, and are not results of all spellings
            for one, other in zip(results[name], results[first], strict=False):
                np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize("family", SHAPES)
def test_all_versions_of_all_spellings_mean_the_same(family: str) -> None:
    """The code of all versions, interpreted: what rules and flattening have made of a spelling."""
    program = compiled(family)
    args = arguments(family, SHAPES[family][0])
    versioned = program.versioned
    for fun in versioned.funs:
        entry = fun.name
        expected = interpret(program.core, entry, args)
        for force in plans(entry_forest(fun)):
            found = interpret(versioned, entry, args, choose=lambda node, force=force: force.get(
                node.site, last_version(node)))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=f"{entry} {force}")


@pytest.mark.sweep(keep=["row_sums", "stencil", "Oclgrind-product", "Oclgrind-histogram"])
@pytest.mark.parametrize("family", SHAPES)
def test_all_kernels_of_all_spellings_are_right(family: str, installed: DeviceInfo) -> None:
    """The first spelling runs in all versions, others where their kernels have another text.

    Texts that differ in nothing but names are one.  Each kind of new kernels runs once for each
    spelling; interpreting all versions (above) costs less than building them.
    """
    program = runelift.compile(HERE / f"{family}.fut", device=installed.name)
    shapes_here = SHAPES[family][:1] if installed.is_simulator else SHAPES[family]
    known: set[str] = set()
    for entry in program.entries:
        steps = program.compiled.plan(entry, interleave=installed.interleaves,
                                      coherent=installed.coherent).steps
        forces, ran, seen = [], set[str](), set[str]()
        for force in plans(program.tree.entry(entry)):
            new = {without_names(kernel): kernel.kind for kernel in kernels_of(steps, force)}
            kinds = {kind for text, kind in new.items() if text not in known}
            if kinds - ran or not known:
                forces.append(force)
                ran |= kinds
            seen |= new.keys()
        known |= seen
        for shapes in shapes_here:
            args = arguments(family, shapes)
            expected = interpret(program.compiled.core, entry, args)
            for force in forces:
                try:
                    found, _ = program.run(entry, args, force=force)
                except VersionUnavailable:  # too little local memory
                    continue
                for one, other in zip(found, expected, strict=True):
                    np.testing.assert_allclose(one, other, rtol=ROUNDING.get(family, 0),
                                               err_msg=f"{entry} {shapes} {force}")


def kernels_of(steps: Sequence[plan.Step], force: Mapping[str, int]) -> Iterator[imp.Kernel]:
    """The kernels of steps if the versions of ``force`` run."""
    for step in steps:
        match step:
            case plan.Choose(site, versions) if site in force:
                yield from kernels_of(versions[force[site]].steps, force)
            case plan.Launch(kernel):
                yield kernel
            case _:
                for body in plan.bodies(step):
                    yield from kernels_of(body, force)


def without_names(kernel: imp.Kernel) -> str:
    """The text of a kernel in which names are numbered in order."""
    numbers: dict[str, str] = {}
    text = re.sub("--.*", "", pretty([kernel]))  # comments tell places in the source
    return re.sub(r"\b[A-Za-z]\w*_\d+\b",
                  lambda name: numbers.setdefault(name[0], f"x{len(numbers)}"), text)


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("family", SHAPES)
@pytest.mark.parametrize("interleave", [True, False])
def test_all_spellings_reach_the_same_classes_of_kernels(family: str, interleave: bool) -> None:
    program = compiled(family)
    works = {entry: work_of(program.plan(entry, interleave=interleave, coherent=True))
             for entry in program.interfaces if entry not in IN_ORDER}
    first, *others = works
    for name in others:
        reason = ELSEWHERE.get((family, name))
        asked = slice(0) if reason not in (None, SCALARS, STORED) else slice(
            reason is not None, None)
        assert reached(works[name])[asked] == reached(works[first])[asked], (
            render([(first, works[first]), (name, works[name])]))


def reached(work: Work) -> tuple[list[str], int, int]:
    """The classes of kernels in all versions, and the fewest launches and stored intermediates."""
    return sorted(work.reached), work.least_launches, work.least_stored


def test_each_kind_of_kernel_has_a_class() -> None:
    """Kinds are texts in calls of the functions that finish kernels."""
    found: set[str] = set()
    for path in (HERE.parents[1] / "codegen").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] in LAUNCHING:
                found |= {arg.value for arg in call.args if isinstance(arg, ast.Constant)
                          and isinstance(arg.value, str)}
    assert found - CLASSES.keys() == set()
    assert {"transpose", "segscan_once", "segmap_tiled", "segred", "intragroup"} <= found


LAUNCHING = {"launch", "_launch", "launch_groups", "each_point", "_segmap_items", "_in_turn"}
