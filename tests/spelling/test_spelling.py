"""Spellings of one meaning: equal results in all versions, and equal classes of kernels."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.plan.kernel_classes import CLASSES, Work, render, work_of
from runelift.ir.errors import VersionUnavailable
from runelift.ir.files import read_source
from runelift.ir.interpret import interpret
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.versions.forest import plans

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
}
"""The shapes of the arguments of each family; a number stands for itself."""
ELEMENTS = {"histogram": np.int32, "prefix_sums": np.int32}
IN_ORDER = {"looped"}
"""Spellings that say in which order elements are combined, so that no reduction may replace them.
"""
SCALARS = "reductions at host level, whose scalars are put into an array one by one"
ELSEWHERE = {
    **{("vectors", name): SCALARS for name in ("tuples", "of_records", "separate")},
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
        results = {fun.name: interpret(core, fun.name, args)[-1] for fun in core.funs}
        first, *others = results
        for name in others:
            np.testing.assert_array_equal(results[name], results[first], err_msg=name)


@pytest.mark.sweep(keep=["row_sums", "stencil", "Oclgrind-product", "Oclgrind-histogram"])
@pytest.mark.parametrize("family", SHAPES)
def test_all_versions_of_all_spellings_are_right(family: str, installed: DeviceInfo) -> None:
    program = runelift.compile(HERE / f"{family}.fut", device=installed.name)
    for shapes in SHAPES[family][:1] if installed.is_simulator else SHAPES[family]:
        args = arguments(family, shapes)
        for entry in program.entries:
            expected = interpret(program.compiled.core, entry, args)[-1]
            for force in plans(program.tree.entry(entry)):
                try:
                    found, _ = program.run(entry, args, force=force)
                except VersionUnavailable:  # too little local memory
                    continue
                np.testing.assert_array_equal(found[-1], expected,
                                              err_msg=f"{entry} {shapes} {force}")


@pytest.mark.parametrize("family", SHAPES)
@pytest.mark.parametrize("interleave", [True, False])
def test_all_spellings_reach_the_same_classes_of_kernels(family: str, interleave: bool) -> None:
    program = compiled(family)
    works = {entry: work_of(program.plan(entry, interleave=interleave, coherent=True))
             for entry in program.interfaces if entry not in IN_ORDER
             and (family, entry) not in ELSEWHERE}
    first, *others = works
    for name in others:
        assert reached(works[name]) == reached(works[first]), (
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


LAUNCHING = {"launch", "launch_groups", "each_point", "_segmap_items", "_in_turn"}
