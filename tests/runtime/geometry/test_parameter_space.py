"""Parameters of kernels: their values on a device, and that none of them changes a result."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Quantity
from runelift.ir.base.errors import UserError
from runelift.runtime.devices.info import DeviceKind, find_devices
from runelift.runtime.execution.kernels import Kernels
from runelift.runtime.execution.run import Run
from runelift.runtime.geometry.parameter_space import ParameterSpace, space_of
from runelift.runtime.programs.program import Program
from tests import programs

SETTINGS = 2
"""How many settings of each operation are tried, besides the smallest and the largest values."""

RANDOM = np.random.default_rng(1)
ROWS = RANDOM.integers(-50, 50, (37, 70)).astype(np.int32)
LONG = RANDOM.integers(-50, 50, 3001).astype(np.int32)

PROGRAMS: dict[str, tuple[str, list[Any]]] = {
    "map": ("def main [n] (xs: [n]i32) = map (\\x -> x * x + 1) xs", [LONG]),
    "reduce": ("def main [n] (xs: [n]i32) = reduce (+) 0 (map (\\x -> x * x) xs)", [LONG]),
    "reduce in order": (
        "def main [n] (xs: [n]i32) =\n"
        "  reduce (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\\x -> (x, 1)) xs)", [LONG]),
    "scan": ("def main [n] (xs: [n]i32) = scan (+) 0 (map (\\x -> x + 1) xs)", [LONG]),
    "rows": ("def main [n][m] (xss: [n][m]i32) = map (reduce (+) 0) xss", [ROWS]),
    "row scans": ("def main [n][m] (xss: [n][m]i32) =\n"
                  "  map (\\xs -> scan (+) 0 xs |> scan i32.max (-1000)) xss", [ROWS]),
    "product": ("def main [n][m][k] (xss: [n][m]i32) (yss: [m][k]i32) =\n"
                "  map (\\xs -> map (\\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose yss)) xss",
                [ROWS, ROWS.T.copy()]),
    "histogram": ("def main [n] (xs: [n]i32) =\n"
                  "  reduce_by_index (replicate 101 0) (+) 0 (map (\\x -> i64.i32 x + 50) xs) xs",
                  [LONG]),
    "histogram of pairs": (
        "def main [n] (xs: [n]i32) =\n"
        "  reduce_by_index (replicate 101 (0, 0)) (\\(a, b) (c, d) -> (a + c, i32.max b d))\n"
        "                  (0, 0) (map (\\x -> i64.i32 x + 50) xs) (zip xs xs)", [LONG]),
}


def sampled(space: ParameterSpace) -> list[tuple[int, ...]]:
    """Some settings of an operation: the extremes of each parameter, and others at random."""
    everything = list(space.settings())
    extremes = [next((s for s in everything if s[k] == value), space.default)
                for k, each in enumerate(space.ranges) for value in (each.values[0],
                                                                     each.values[-1])]
    others = random.Random(7).sample(everything, min(SETTINGS, len(everything)))
    return list(dict.fromkeys([*extremes, *others]))


@pytest.mark.sweep(keep=["map", "rows", "scan]", "histogram]"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_setting_changes_a_result(name: str) -> None:
    text, args = PROGRAMS[name]
    program = runelift.compile(text)
    expected, _ = runelift.compile(text, device="interpreter").run("main", args)
    for space in program.spaces("main"):
        force = leading_to(program.loaded.plan("main").steps, space.operation.name)
        for setting in sampled(space):
            found, _ = program.run("main", args, force=force, thresholds=space.named(setting))
            for want, got in zip(expected, found, strict=True):
                np.testing.assert_array_equal(got, want, err_msg=str(space.named(setting)))


def leading_to(steps: tuple[plan.Step, ...], operation: str) -> dict[str, int]:
    """The versions that run an operation."""
    return {step.site: number for step in plan.all_steps(steps) if isinstance(step, plan.Choose)
            for number, version in enumerate(step.versions)
            if any(found.name == operation for found in plan.operations(version.steps))}


def test_a_setting_reaches_the_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(PROGRAMS["map"][0])
    seen, enqueue = list[int](), Run._enqueue
    monkeypatch.setattr(Run, "_enqueue", lambda self, site, groups, group, lengths, args: (
        seen.append(group), enqueue(self, site, groups, group, lengths, args)))
    for group in (16, 128):
        program.run("main", [LONG], thresholds={group_name(program): group})
    assert seen == [16, 128]


def group_name(program: Program) -> str:
    """The first parameter that is the size of a group."""
    return next(each.parameter.name for space in program.spaces("main") for each in space.ranges
                if each.parameter.quantity is Quantity.GROUP)


@pytest.mark.sweep
def test_what_does_not_fit_the_device_is_in_no_space() -> None:
    """With 4 KiB of local memory groups, tiles and blocks are smaller."""
    (info, *_) = (d for d in find_devices() if d.kind is DeviceKind.CPU and d.problem is None)
    large = replace(info, shares=replace(info.shares, staged=True, tile=16))
    small = replace(large, local_bytes=4096)
    for name in ("scan", "product"):
        for space in runelift.compile(PROGRAMS[name][0]).spaces("main"):
            every, fitting = (set(space_of(space.operation, each).settings())
                              for each in (large, small))
            wanted = {each.parameter.quantity for each in space.ranges}
            if wanted & {Quantity.CHUNK, Quantity.SIDE} and Quantity.LANES not in wanted:
                assert fitting < every


@pytest.mark.sweep(keep=["rows"])
@pytest.mark.parametrize("name", ["product", "scan", "rows", "reduce"])
def test_settings_are_counted_and_drawn_without_a_list(name: str) -> None:
    for space in runelift.compile(PROGRAMS[name][0]).spaces("main"):
        settings = list(space.settings())
        assert settings[0] == space.default
        assert len(set(settings)) == len(settings) == space.count
        assert all(map(space.allows, settings[:: 1 + space.count // 200]))
        if space.count < 3000:
            assert sorted(space.shuffled(random.Random(3))) == sorted(settings)
        first = list(islice(space.shuffled(random.Random(3)), 20))
        assert len(set(first)) == len(first) == min(20, space.count)
        near = list(space.neighbours(space.default))
        assert set(near) <= set(space.apart(space.default)) <= set(settings)


def test_each_setting_is_as_likely_as_another() -> None:
    space = runelift.compile(PROGRAMS["map"][0]).spaces("main")[0]
    generator = random.Random(5)
    counted = Counter(next(space.shuffled(generator)) for _ in range(200 * space.count))
    assert len(counted) == space.count
    assert 120 < min(counted.values()) <= max(counted.values()) < 280


def test_an_impossible_setting_is_refused_with_both_sizes_and_its_source() -> None:
    text = PROGRAMS["product"][0]
    space = _product_space()
    name = space.operation.name

    def refused(**values: int) -> str:
        return space.obstacle(space.chosen({f"{name}.{key}": value
                                            for key, value in values.items()}))

    assert refused(side=8, rows=4, columns=4) == ""
    assert refused(side=8, rows=16, columns=8) == (
        f"columns*rows = 128 is more than 64 (a work-item keeps its points in registers; from "
        f"{name}; at <source>:2:15)")
    assert refused(rows=4).startswith(
        "min(1, rows) = 1 is more than min(1, side) = 0 ('rows' needs 'side' to be set; ")
    with pytest.raises(UserError, match=r"columns\*rows = 256 is more .*No values of other"):
        runelift.compile(text, settings={
            f"{name}.side": 8, f"{name}.rows": 16, f"{name}.columns": 16})
    with pytest.raises(UserError, match=rf"It goes with {name}\.side=4\.") as caught:
        runelift.compile(text, settings={f"{name}.rows": 4})
    assert "error[impossible-setting]" in str(caught.value)
    assert runelift.compile(text, settings={f"{name}.rows": 4, f"{name}.side": 4}).thresholds


def test_slabs_and_groups_that_do_not_go_together_are_refused() -> None:
    """A group is no larger than the device's, and has an element of a slab for each work-item."""
    space = _product_space()
    name = space.operation.name

    def refused(**values: int) -> str:
        return space.obstacle(space.chosen({f"{name}.{key}": value
                                            for key, value in values.items()}))

    assert refused(side=4, across=16, rows=4, columns=4, depth=8) == ""
    assert "min(1, across) = 1 is more than min(1, side) = 0" in refused(across=8)
    assert "min(1, depth) = 1 is more than min(1, side) = 0" in refused(depth=8)
    for values in ({"side": 32, "rows": 1, "columns": 1, "depth": 4},
                   {"side": 4, "across": 32, "rows": 2, "columns": 8, "depth": 4},
                   {"side": 4, "depth": 32}):
        assert "(each work-item copies an element of a slab;" in refused(**values)
    small = space_of(space.operation, replace(space.info, max_group=256))
    for values, wrong in (({"side": 32}, True), ({"side": 32, "across": 8}, False),
                          ({"side": 8, "across": 32}, False), ({"side": 16, "across": 32}, True)):
        found = small.obstacle(small.chosen({f"{name}.{k}": v for k, v in values.items()}))
        assert ("a group has work-items in rows and columns" in found) == wrong


PRODUCTS = {
    "matrix": (PROGRAMS["product"][0], ()),
    "steps of two dimensions": (
        "def main [n][m][k] (xsss: [n][m][3]i32) (ysss: [m][3][k]i32) =\n"
        "  tabulate_2d n k (\\i j -> i32.sum (tabulate m (\\a ->\n"
        "    i32.sum (tabulate 3 (\\b -> xsss[i, a, b] * ysss[a, b, j])))))", (3,)),
}
"""Products, and the lengths of their further steps."""


@pytest.mark.sweep(every=12)
@pytest.mark.parametrize("setting", [
    (4, 32, 8, 2, 4), (32, 4, 1, 1, 32), (8, 0, 2, 2, 4), (4, 0, 4, 4, 16), (8, 16, 0, 0, 0),
    (16, 8, 0, 0, 32)])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_right_for_all_groups_and_slabs(name: str, setting: tuple[int, ...]) -> None:
    """Extreme groups that are not square, and slabs, at sizes 0, 1 and odd ones."""
    text, _ = PRODUCTS[name]
    program = programs.program(text)
    space = _product_space(program)
    force = leading_to(program.loaded.plan("main").steps, space.operation.name)
    quantities = (Quantity.SIDE, Quantity.ACROSS, Quantity.ROWS, Quantity.COLUMNS, Quantity.DEPTH)
    chosen = {f"{space.operation.name}.{quantity.value}": value
              for quantity, value in zip(quantities, setting, strict=True)}
    assert space.obstacle(space.chosen(chosen)) == ""
    for args, expected in _product_cases(name):
        ((found,), _) = program.run("main", args, force=force, thresholds=chosen)
        np.testing.assert_array_equal(found, expected)


@cache
def _product_cases(name: str) -> list[tuple[list[Any], Any]]:
    """Arguments of a product and what the interpreter says of them, which takes most of the time.
    """
    text, further = PRODUCTS[name]
    cases = []
    for rows, length in [(70, 37), (33, 1), (64, 0), (0, 5)]:
        args = [np.random.default_rng(rows).integers(-50, 50, shape).astype(np.int32)
                for shape in ((rows, length, *further), (length, *further, rows + 1))]
        (expected,) = programs.expected(text, "main", args)
        cases.append((args, expected))
    return cases


def _product_space(program: Program | None = None) -> ParameterSpace:
    """The parameters of the blocks of a product."""
    program = program or runelift.compile(PROGRAMS["product"][0])
    (space,) = (s for s in program.spaces("main")
                if any(r.parameter.quantity is Quantity.SIDE for r in s.ranges))
    return space


def test_a_group_that_does_not_split_evenly_is_refused() -> None:
    text = PROGRAMS["product"][0]
    space = next(s for s in runelift.compile(text).spaces("main") if {
        Quantity.SPLIT, Quantity.GROUP} <= {r.parameter.quantity for r in s.ranges})
    name = space.operation.name
    with pytest.raises(UserError, match=r"max\(1, split\) = 64 does not divide group = 32, "
                       r"32 % 64 = 32 \(a group is split evenly; from main\."):
        runelift.compile(text, settings={
            f"{name}.group": 32, f"{name}.split": 64, f"{name}.points": 2})


def test_names_and_values_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "p.fut"
    path.write_text(PROGRAMS["map"][0])
    name = group_name(runelift.compile(path))
    assert runelift.compile(path, settings={name: 128}).thresholds == {name: 128}
    with pytest.raises(UserError, match=r"can be .* not 100"):
        runelift.compile(path, settings={name: 100})
    with pytest.raises(UserError, match=f"Did you mean '{name}'"):
        runelift.compile(path, settings={name + "s": 64})
    tuning = tmp_path / "p.tuning"
    tuning.write_text(f"{name}=100\n")
    with pytest.warns(UserWarning, match="it is ignored"):
        program = runelift.compile(path, tuning=tuning)
    np.testing.assert_array_equal(program.main(LONG), LONG * LONG + 1)


def test_attributes_are_set_like_parameters(tmp_path: Path) -> None:
    path = tmp_path / "p.fut"
    path.write_text("def size: i64 = #[param(size)] 3\nentry main (x: i64) = x * size\n")
    assert runelift.compile(path, settings={"size": 5}).main(2) == 10
    assert runelift.compile(path).main(2) == 6


def test_loops_are_unrolled_and_only_their_kernel_is_built_again(
        monkeypatch: pytest.MonkeyPatch) -> None:
    text = "entry main [n][m] (xss: [n][m]i32) = map (reduce (+) 0) xss"
    program = runelift.compile(text)
    sources, build = list[str](), Kernels._program
    monkeypatch.setattr(Kernels, "_program", lambda self, source, *further: (
        sources.append(source), build(self, source, *further))[1])
    (name,) = (each.parameter.name for space in program.spaces("main") for each in space.ranges
               if each.parameter.quantity is Quantity.UNROLL
               and space.operation.name.endswith("_2"))
    for times in (None, 4, 4, None, 8):
        chosen = {} if times is None else {name: times}
        found, _ = program.run("main", [ROWS], force={"main.versions_0": 2}, thresholds=chosen)
        np.testing.assert_array_equal(found[0], ROWS.sum(axis=1, dtype=np.int32))
    assert [source.count("__kernel") for source in sources] == [1, 1, 1]
    assert [times for times in (4, 8) if f"#pragma unroll {times}\n" in sources[0]] == []
    assert "#pragma unroll 4\n" in sources[1]
    assert "#pragma unroll 8\n" in sources[2]
