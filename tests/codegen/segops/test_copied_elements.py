"""Points with one loop: a schedule's copies of what work-items share, and what explain reads."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.source import Source
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.data.compare import first_difference
from runelift.runtime.data.dataset import Generator, parse_spec
from runelift.runtime.devices.info import select
from runelift.runtime.devices.limits import ShareLimits
from runelift.runtime.geometry.launch_geometry import LaunchGeometry
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.cli import main as command

EXAMPLES = Path(__file__).parents[3] / "examples"
LINE = ("fuse\nmain.ys split_join(32)\nmain.ys.ys tile_map_reduce(4, local)\n"
        "main.ys.{0} split_join(4)\n")
SLIDING = """
entry main [n][m] (xs: [n]f32) (fs: [m]f32): []f32 =
  tabulate (n - m + 1) (\\i -> f32.sum (map (\\k -> xs[i + k] * fs[k]) (iota m)))
"""
BACKWARDS = """
entry main [n][m] (xs: [n]i64) (fs: [m]i64): []i64 =
  tabulate (n - m + 1) (\\i -> i64.maximum (map (\\k -> xs[i + m - 1 - k] + 3 * fs[k]) (iota m)))
"""
ALL_READ = """
entry main [n][m] (xs: [n]f32) (ys: [m]f32) (ws: [m]f32): [n]f32 =
  map (\\x -> f32.sum (map2 (\\y w -> w * (x - y)) ys ws)) xs
"""
ORDERED = """
entry main [n][m] (xs: [n]i32) (ys: [m]i32): [n]i32 =
  map (\\x -> (reduce (\\(a, b) (c, d) -> (c * a, c * b + d)) (1, 0)
                     (map (\\y -> (y + x, y - x)) ys)).1) xs
"""
PLANES = """
entry main [b][n][m] (xss: [b][n]i64) (ys: [m]i64): [b][n]i64 =
  map (map (\\x -> i64.sum (map (\\y -> if y < x then y * x else y) ys))) xss
"""
BLOCK = ("main.ys ab_tile(4, 16)\nmain.ys.ys.ys tile_map_reduce(2, local)\n"
         "main.ys.ys.ys[1].sum ab_tile(4, 1)\n")
GATHERED = """
entry main [n][m] (xs: [n]f32) (at: [m]i64) (ys: [m]f32): [n]f32 =
  map (\\x -> f32.sum (map2 (\\i y -> x * xs[i % n] + y) at ys)) xs
"""
GUARDED = """
entry main [n][m] (xs: [n]f32) (ys: [m]f32): [n]f32 =
  map (\\x -> f32.sum (map (\\k -> if x > 0 then ys[k] * x else x) (iota m))) xs
"""
CASES = {
    "sliding": (SLIDING, LINE.format("ys.sum"), ["fs", "xs"], [
        "[90]f32 [17]f32", "[300]f32 [140]f32", "[3]f32 [3]f32", "[40]f32 [1]f32"]),
    "backwards": (BACKWARDS, LINE.format("ys.sum"), ["fs", "xs"], [
        "[90]i64 [17]i64", "[200]i64 [75]i64", "[5]i64 [5]i64"]),
    "all_read": (ALL_READ, LINE.format("ys[1].sum"), ["ws", "ys"], [
        "[70]f32 [33]f32 [33]f32", "[1]f32 [300]f32 [300]f32", "[40]f32 [0]f32 [0]f32",
        "[0]f32 [4]f32 [4]f32"]),
    "planes": (PLANES, BLOCK, ["ys"], [
        "[9][21]i64 [150]i64", "[1][1]i64 [1]i64", "[4][16]i64 [2]i64"]),
    "gathered": (GATHERED, LINE.format("ys[1].sum"), ["at", "ys"], ["[50]f32 [23]i64 [23]f32"]),
}


@lru_cache
def compiled(name: str) -> runelift.Program:
    text, schedule, _, _ = CASES[name]
    return runelift.compile(text, schedule=schedule, tuning={})


def boxed(program: runelift.Program) -> str:
    """The kernel that copies elements to local memory; "" if there is none."""
    text = str(program.source("kernels"))
    found = re.search(r"__kernel void \w+_boxed_\w+\(.*?\n}\n", text, re.DOTALL)
    return found[0] if found else ""


@pytest.mark.parametrize("name", CASES)
def test_kernels_copy_what_work_items_share(name: str) -> None:
    kernel = boxed(compiled(name))
    assert kernel.count("__local ulong2 *box") == len(CASES[name][2])
    for array in CASES[name][2]:
        assert re.search(rf"(copied_\d|box_\d\[.*?\]) = .*\b{array}_\d\[", kernel)


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_the_interpreter(name: str) -> None:
    text, _, _, specs = CASES[name]
    expected = runelift.compile(text, device="interpreter")
    for spec in specs:
        args = list(Generator(1, {}).values(map(parse_spec, spec.split())))
        found, _ = compiled(name).run("main", args)
        assert first_difference(expected.run("main", args)[0], found) is None, spec


def test_operators_that_do_not_commute_keep_their_order() -> None:
    program = runelift.compile(ORDERED, schedule=LINE.format("r.sum"), tuning={})
    assert boxed(program)
    rng = np.random.default_rng(3)
    for n, m in [(40, 33), (5, 1), (70, 150)]:
        xs, ys = (rng.integers(-3, 4, k).astype("i4") for k in (n, m))
        one = np.ones(n, "i4")
        total = np.zeros(n, "i4")
        for y in ys:
            one, total = (y + xs) * one, (y + xs) * total + (y - xs)
        np.testing.assert_array_equal(program.main(xs, ys), total)


def explained(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, schedule: str
              ) -> str:
    """The output of ``explain schedule``."""
    program, steps = tmp_path / "p.fut", tmp_path / "p.schedule"
    program.write_text(text)
    steps.write_text(schedule)
    command(["explain", "schedule", "--file", str(steps), str(program)])
    return capsys.readouterr().out


@pytest.mark.parametrize("name", CASES)
def test_explain_names_the_arrays_that_are_copied(
        name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, schedule, arrays, _ = CASES[name]
    assert f"{' and '.join(arrays)} in local memory" in explained(tmp_path, capsys, text, schedule)
    first = "".join(schedule.splitlines(keepends=True)[:-1])
    without = explained(tmp_path, capsys, text, first.replace(", local", ""))
    assert "is one kernel" in without
    assert "local memory" not in without


def test_explain_says_that_nothing_is_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]
                                             ) -> None:
    steps = "".join(LINE.splitlines(keepends=True)[:3])
    found = explained(tmp_path, capsys, GUARDED, steps)
    assert not boxed(runelift.compile(GUARDED, schedule=steps, tuning={}))
    assert "nothing in local memory" in found
    assert "Nothing is copied: " in found


@pytest.mark.parametrize("name", [path.stem for path in (EXAMPLES / "stages").glob("*.schedule")])
def test_local_memory_shows_in_the_kernels_of_all_examples(name: str) -> None:
    text = (EXAMPLES / "stages" / f"{name}.schedule").read_text()
    lines = text.splitlines(keepends=True)
    without = "".join(line for line in lines if "materialise(local)" not in line)
    source = Source("t", (EXAMPLES / f"{name}.fut").read_text())
    found = [{each.kind: len(each.locals) for each in kernels_of(source, schedule)}
             for schedule in (text, without)]
    assert found[0] != found[1]
    assert any(kind.endswith(("_boxed", "_tiled")) for kind in found[0])


def kernels_of(source: Source, schedule: str) -> list[object]:
    """The kernels of a program with a schedule, for graphics processors."""
    from runelift.codegen.plan.plan import kernels

    plan = compile_source(source, schedule=Source("s", schedule)).plan("main", interleave=True)
    return list(kernels(plan.steps))


GPU: dict[str, Any] = {"shares": ShareLimits(32, 256, 1024, 16, 32, True, 1), "units": 132,
                       "max_group": 1024, "local_bytes": 48 << 10}
SHARED = {
    "conv1d": ("[700]f32 [300]f32", (256, 16, 16, 8, 16, 128, 2048)),
    "nbody": ("1i32 0.01f32" + " [300]f32" * 7, (512, 16, 32, 4, 4, 16, 1024)),
    "coulomb": ("17i64 9i64 2i64 0.1f32" + " [300]f32" * 4, (512, 32, 16, 8, 2, 16, 256)),
}


@pytest.mark.parametrize("name", SHARED)
def test_examples_fill_a_gpu_and_answers_are_right(name: str, monkeypatch: pytest.MonkeyPatch
                                                   ) -> None:
    """Work-items share segments as on a GPU, and tiles are long enough for few barriers."""
    spec, shape = SHARED[name]
    source = Source("t", (EXAMPLES / f"{name}.fut").read_text())
    schedule = Source("s", (EXAMPLES / "stages" / f"{name}.schedule").read_text())
    info = select("pocl")
    assert info is not None
    program = Program(compile_source(source, schedule=schedule), replace(info, **GPU))
    found, answer = list[tuple[int, ...]](), LaunchGeometry.shape

    def seen(self: LaunchGeometry, shape: str, /, **asked: Any) -> tuple[Any, ...]:
        found.append(answer(self, shape, **asked))
        return found[-1]

    monkeypatch.setattr(LaunchGeometry, "shape", seen)
    args = list(Generator(1, {}).values(map(parse_spec, spec.split())))
    results, _ = program.run("main", args)
    assert shape in found
    expected = runelift.compile(EXAMPLES / f"{name}.fut", device="interpreter").run("main", args)[0]
    assert first_difference(expected, results) is None


def test_values_of_segments_are_loaded_once() -> None:
    """Before the tiles: positions of the bodies that a work-item has."""
    source = Source("t", (EXAMPLES / "nbody.fut").read_text())
    text = (EXAMPLES / "stages" / "nbody.schedule").read_text()
    program = runelift.compile(source.text, schedule=text, tuning={})
    before, tiles = boxed(program).split("MEET_ALL;", 1)
    inside = tiles.split("if (split_1 == 1L)")[0]
    assert len(re.findall(r"= loop_\d\[i_\d\]", before)) == 6  # for whole parts, and for the rest
    assert not re.search(r"= loop_\d\[i_\d\]", inside)


@pytest.mark.parametrize("name", SHARED)
def test_candidates_copy_to_local_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES.parent / "benchmarks"))
    candidates = importlib.import_module("candidates")
    source = Source("t", (EXAMPLES / f"{name}.fut").read_text())
    texts = candidates.texts_of(name)
    assert len(texts) >= 6
    for text in texts.values():
        assert any(each.kind.endswith("_boxed") for each in kernels_of(source, text)), text
