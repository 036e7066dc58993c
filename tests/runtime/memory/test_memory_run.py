"""The memory of a run before it runs is what the run then takes."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.plan.memory import VersionMemory, memory_of
from runelift.ir.base.errors import UserError
from runelift.ir.base.source import Source
from runelift.ir.sizes import Size
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.testing.scripts import evaluate
from runelift.runtime.tools.testing.test_blocks import datasets_of
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans
from tests.runtime.memory.programs import CONVOLUTIONS, DROPS

EXAMPLES = Path(__file__).parents[3] / "examples"


def measured(program: Program, entry: str, args: list[Any], force: Mapping[str, int]) -> int:
    """The greatest memory of a run whose arguments are on the device."""
    with without_collections():  # arrays that other tests left would be freed meanwhile
        runner, before = MeasuredProgram(program), program.device.pool.live
        placed = runner.place(args)
        return runner.record(entry, placed, force=force, samples=False).peak_bytes - before


@contextmanager
def without_collections() -> Iterator[None]:
    """Leave garbage for later: to collect it takes a second where many tests have run."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.sweep(keep=["matmul", "variant", "kmeans", "radix", "windows", "hotspot"])
@pytest.mark.parametrize("name", ["matmul", "variant", "lud", "kmeans", "poisson", "heston",
                                  "radix", "windows", "hotspot", "tpacf", "OptionPricing"])
def test_examples_take_the_memory_that_is_foreseen(name: str) -> None:
    program = runelift.compile(EXAMPLES / f"{name}.fut", device="pocl", tuning={})
    scripts = partial(evaluate, program=program.compiled.source, device=program.device_info)
    for entry in program.entries:
        types = [param.prim for param in program.interface(entry).params]
        for case in datasets_of(program.compiled.source, entry)[:1]:
            args = [np.asarray(arg)[()] for arg in case.recipes(scripts, types)]
            found = program.estimate_memory(entry, args)
            assert found.bytes == measured(program, entry, args, {})
            assert sum(each.bytes for each in found.alive) == found.bytes


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (7, 13), (33, 1000)])
def test_every_version_takes_what_is_foreseen(shape: tuple[int, int]) -> None:
    program = runelift.compile(DROPS, device="pocl", tuning={})
    xss = np.random.default_rng(1).random(shape, np.float32)
    alone = program.estimate_memory("main", [xss])
    for force in plans(program.tree.entry("main")):
        found = program.estimate_memory("main", [xss], force=force)
        assert found.bytes == measured(program, "main", [xss], force)
        ((site, index),) = force.items()
        need = alone.need_of(site, index)
        assert need is not None
        assert need.bytes == found.bytes


def test_nested_versions_take_what_is_foreseen() -> None:
    program = runelift.compile(EXAMPLES / "matmul.fut", device="pocl", tuning={})
    a, b = np.ones((3, 400), np.float32), np.ones((400, 5), np.float32)
    for force in plans(program.tree.entry("main")):
        found = program.estimate_memory("main", [a, b], force=force)
        assert found.bytes == measured(program, "main", [a, b], force)


def test_what_depends_on_the_device_is_said_to_be_unknown() -> None:
    program = runelift.compile(
        "entry main (xs: []i32): []i32 = map (* 2) (filter (> 0) xs ++ filter (< -5) xs)",
        device="pocl", tuning={})
    found = program.estimate_memory("main", [np.arange(-50, 50, dtype=np.int32)])
    assert "depend on values that the device computes" in found.unknown


def test_the_interpreter_has_no_device_memory() -> None:
    program = runelift.compile(DROPS, device="interpreter", tuning={})
    with pytest.raises(UserError, match="needs no device memory"):
        program.estimate_memory("main", [np.ones((2, 2), np.float32)])


def test_a_direct_convolution_needs_less_than_one_that_stores_windows() -> None:
    program = runelift.compile(CONVOLUTIONS, device="pocl", tuning={})
    args = [np.ones((64, 64), np.float32), np.ones((4, 9), np.float32)]
    stored, direct = (program.estimate_memory(e, args).bytes for e in ("im2col", "direct"))
    assert stored - direct >= 64 * 64 * 9 * 4
    for entry, bytes_ in (("im2col", stored), ("direct", direct)):
        assert measured(program, entry, args, {}) == bytes_


# Formulas


def test_formulas_agree_with_the_dry_run() -> None:
    """Where nothing but sizes decides; the pool rounds every buffer up."""
    program = runelift.compile(DROPS, device="pocl", tuning={})
    plan = program.loaded.plan("main")
    found, compared = memory_of(plan), 0
    for shape in ((1, 1), (7, 13), (100, 1000)):
        sizes = dict(zip(plan.sizes, shape, strict=True))
        estimate = program.estimate_memory("main", [np.zeros(shape, np.float32)])
        for site, index, version in found.walk():
            need = estimate.need_of(site, index)
            assert need is not None
            assert need.bytes is not None
            if all(size.variables() <= sizes.keys() for size in version.bytes):
                least = max(size.value(sizes) for size in version.bytes)
                assert least <= need.bytes <= 1.125 * least + 16 * len(need.alive)
                compared += 1
    assert compared >= 3


def versions(source: str, entry: str = "main") -> dict[tuple[str, int], VersionMemory]:
    """The formulas of all versions."""
    program = runelift.compile(source, device="pocl", tuning={})
    return {(site, index): version
            for site, index, version in memory_of(program.loaded.plan(entry)).walk()}


def test_formulas_count_what_a_loop_keeps_from_one_iteration_to_the_next() -> None:
    program = runelift.compile("""
        entry main [n] (xs: [n]f32) (k: i64): [n]f32 =
          loop ys = xs for _i < k do map2 (+) ys (rotate 1 ys)""",
        device="pocl", tuning={})
    plan = program.loaded.plan("main")
    (n,) = (Size.var(name) for name in plan.sizes if name.base == "n")
    args = [np.ones(4096, np.float32), np.int64(5)]
    assert program.estimate_memory("main", args).bytes == measured(program, "main", args, {})
    assert memory_of(plan).bytes == (n * 12,)  # xs, and those of two iterations


def test_sizes_that_the_host_chooses_are_names_in_formulas() -> None:
    found = versions((EXAMPLES / "matmul.fut").read_text())
    names = {name.base for version in found.values() for size in version.bytes
             for name in size.variables()}
    assert {"n", "m", "p", "pieces"} <= names


def test_an_estimate_is_printed_with_its_largest_arrays() -> None:
    program = runelift.compile(Source("sums", "entry main [n] (xs: [n]i64): i64 = i64.sum xs"),
                               device="pocl", tuning={})
    text = str(program.estimate_memory("main", [np.zeros(1 << 17, np.int64)]))
    assert text.startswith("1.0 MiB of device memory: xs 1.0 MiB, ")
    assert str(program.compiled.derivation("main")).startswith("main:\n  G1  ")
