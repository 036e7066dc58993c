"""Coarse reductions: the same answers with all points and steps of a work-item, at all sizes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from runelift.codegen.hostplan import host
from runelift.codegen.plan.parameters import Quantity
from runelift.ir.base.source import Source
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.execution.run import Run
from runelift.runtime.geometry.parameter_space import ParameterSpace
from runelift.runtime.programs.program import Program
from runelift.runtime.versions.forest import plans
from tests import programs

FLAT = """
entry main [n][m] (xs: [n]f32) (fs: [m]f32): []f32 =
  tabulate (n - m + 1) (\\i -> f32.sum (map (\\k -> xs[i + k] * fs[k]) (iota m)))
"""
TALL = """
entry main [n][m][p][q] (xss: [n][m]f32) (fss: [p][q]f32): [][]f32 =
  tabulate_2d (n - p + 1) (m - q + 1) (\\i j ->
    f32.sum (tabulate p (\\k -> f32.sum (tabulate q (\\l -> xss[i + k, j + l] * fss[k, l])))))
"""
PAIRS = """
entry main [n] (xs: [n]f32) (ys: [n]f32): [n](f32, f32) =
  map2 (\\x y -> let (a, b) = reduce (\\(a, b) (c, d) -> (a + c, f32.max b d)) (0, -1000)
                                    (map2 (\\u v -> (x * u, if v < y then v else u)) xs ys)
                in (a, b)) xs ys
"""
ORDERED = """
entry main [n][m] (xs: [n]i32) (ys: [m]i32): [n](i32, i32) =
  map (\\x -> reduce (\\(a, b) (c, d) -> (c * a, c * b + d)) (1, 0)
                    (map (\\y -> (y + x, y - x)) ys)) xs
"""
BATCHED = """
entry main [a][b][c][m] (xsss: [a][b][c]i64) (ys: [m]i64): [a][b][c]i64 =
  map (map (map (\\x -> i64.sum (map (\\y -> if y < x then loop s = x for _i < y do s * 3 + y
                                            else x * y) ys)))) xsss
"""
ROWS = """
entry main [a][n][m] (xss: [a][n]f32) (fs: [m]f32): [a][]f32 =
  map (\\xs -> tabulate (n - m + 1) (\\i ->
    2 * f32.sum (map (\\k -> xs[i + k] * fs[k]) (iota m)) + f32.i64 i)) xss
"""
CUBE = """
entry main [a][b][c][p][q][r] (xsss: [a][b][c]f32) (fsss: [p][q][r]f32): [][][]f32 =
  tabulate_3d (a - p + 1) (b - q + 1) (c - r + 1) (\\i j k ->
    f32.sum (tabulate p (\\u -> f32.sum (tabulate q (\\v -> f32.sum (tabulate r (\\w ->
      xsss[i + u, j + v, k + w] * fsss[u, v, w])))))))
"""
BACKWARDS = """
entry main [n][m][p][q] (xss: [n][m]f32) (fss: [p][q]f32) (gs: [q]f32): [][]f32 =
  tabulate_2d (n - p + 1) (m - 2 * q + 2) (\\i j ->
    f32.maximum (tabulate p (\\k -> f32.sum (tabulate q (\\l ->
      xss[i + p - 1 - k, j + 2 * l] * fss[k, l] + gs[q - 1 - l] * xss[i, j])))) + f32.i64 i)
"""
PROGRAMS: dict[str, tuple[str, list[list[tuple[int, ...]]], Any]] = {
    "flat": (FLAT, [[(70,), (9,)], [(9,), (9,)], [(41,), (25,)], [(7,), (1,)]], np.float32),
    "tall": (TALL, [[(9, 21), (4, 3)], [(5, 5), (5, 5)], [(20, 8), (3, 8)]], np.float32),
    "cube": (CUBE, [[(7, 5, 19), (4, 2, 5)], [(4, 3, 3), (4, 0, 3)]], np.float32),
    "backwards": (BACKWARDS, [[(12, 25), (4, 5), (5,)]], np.float32),
    "pairs": (PAIRS, [[(37,), (37,)], [(1,), (1,)], [(0,), (0,)]], np.float32),
    "ordered": (ORDERED, [[(37,), (19,)], [(3,), (0,)]], np.int32),
    "rows": (ROWS, [[(3, 40), (9,)], [(1, 9), (9,)]], np.float32),
    "batched": (BATCHED, [[(2, 5, 7), (11,)], [(3, 1, 4), (1,)]], np.int64),
}
VERSIONS = {"flat": (0, 2), "tall": (2, 4), "cube": (4, 6), "backwards": (2, 4), "pairs": (0, -1),
            "ordered": (0, -1), "batched": (4, -1), "rows": (2, -1)}
"""Which versions reduce segments: one as points of a map, one as a segmented reduction."""
BOXED = ("tall", "cube", "backwards")
"""Whose elements have loops that work-items go through together."""
SETTINGS = [  # points, steps, split, group and tile
    (4, 2, 1, 8, 16), (2, 4, 4, 16, 1), (1, 4, 1, 4, 32), (8, 8, 4, 16, 16), (16, 1, 16, 16, 64)]


def coarse_spaces(program: Program) -> list[ParameterSpace]:
    """The operations that can be done coarsely."""
    return [space for space in program.spaces("main")
            if any(each.parameter.quantity is Quantity.POINTS for each in space.ranges)]


def chosen(program: Program, setting: tuple[int, ...]) -> Mapping[str, int]:
    """Parameters for points, steps, split, group and tile of all such operations."""
    found: dict[str, int] = {}
    for space in coarse_spaces(program):
        wanted = dict(zip(("points", "steps", "split", "group", "tile"), setting, strict=True))
        found |= {each.parameter.name: wanted[each.parameter.quantity.value]
                  for each in space.ranges if each.parameter.quantity.value in wanted}
        assert space.obstacle(space.chosen(found)) == ""
    return found


def inputs(shapes: list[tuple[int, ...]], dtype: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.integers(-3, 4, shape).astype(dtype) for shape in shapes]


@pytest.mark.sweep(keep=["flat", "pairs", "ordered"])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_setting(name: str, which: int) -> None:
    text, cases, dtype = PROGRAMS[name]
    program = programs.program(text)
    assert coarse_spaces(program)
    force = plans(program.tree.entry("main"))[VERSIONS[name][which]]
    kinds = ("segmap_coarse", "segred_coarse")
    assert f"kernel {kinds[which]}" in program.source("imp")
    assert (f"kernel {kinds[which]}_boxed" in program.source("imp")) == (name in BOXED)
    for shapes in cases:
        args = inputs(shapes, dtype)
        expected = programs.expected(text, "main", args)
        for setting in SETTINGS if which else SETTINGS[:2]:
            actual, _ = program.run("main", args, force=force, thresholds=chosen(program, setting))
            for want, got in zip(expected, actual, strict=True):
                np.testing.assert_array_equal(np.asarray(got), np.asarray(want), str(setting))


def test_points_and_steps_do_not_change_the_order_of_sums() -> None:
    program = programs.program(TALL)
    rng = np.random.default_rng(2)
    args = [rng.random(shape, dtype=np.float32) for shape in [(40, 50), (9, 13)]]
    force = plans(program.tree.entry("main"))[4]
    expected = programs.expected(TALL, "main", args)
    for points, steps, tile in [(4, 1, 16), (1, 8, 1), (2, 16, 1), (4, 4, 32)]:
        actual, _ = program.run("main", args, force=force,
                                thresholds=chosen(program, (points, steps, 1, 16, tile)))
        np.testing.assert_array_equal(np.asarray(actual[0]), np.asarray(expected[0]))


@pytest.mark.parametrize("name", ["tall", "backwards"])
def test_each_array_is_copied_to_local_memory_or_not(name: str, monkeypatch: pytest.MonkeyPatch
                                                     ) -> None:
    """Equal results, from kernels that keep as many arrays in local memory as were chosen."""
    text, cases, dtype = PROGRAMS[name]
    program = programs.program(text)
    force = plans(program.tree.entry("main"))[VERSIONS[name][0]]
    seen, enqueue = list[int](), Run._enqueue
    monkeypatch.setattr(Run, "_enqueue", lambda self, site, groups, group, lengths, args: (
        seen.append(len(lengths)), enqueue(self, site, groups, group, lengths, args)))
    found = {each.parameter.name: each.values for space in coarse_spaces(program)
             for each in space.ranges if each.parameter.quantity is Quantity.ARRAYS}
    (choices,) = set(found.values())
    assert len(choices) in (3, 7)
    for shapes in cases:
        args = inputs(shapes, dtype)
        expected = programs.expected(text, "main", args)
        counts = {}
        for choice in choices:
            seen.clear()
            actual, _ = program.run("main", args, force=force, thresholds={
                **chosen(program, (4, 2, 1, 8, 16)), **dict.fromkeys(found, choice)})
            np.testing.assert_array_equal(np.asarray(actual[0]), np.asarray(expected[0]),
                                          f"{shapes} {choice}")
            counts[choice] = max(seen)
        every = counts.pop(0)
        boxes = (len(choices) + 1).bit_length() - 1
        assert {choice: every - boxes + choice.bit_count() for choice in counts} == counts


def test_what_segments_do_not_share_is_left_alone() -> None:
    program = programs.program("def main [n][m] (xss: [n][m]f32) = map f32.sum xss")
    assert coarse_spaces(program) == []


@pytest.mark.parametrize("text", [
    """
    entry main [n][m] (xs: [n]i32) (ys: [m]i32): [n]i32 =
      map (\\x -> i32.sum (map (\\y ->
        let zs = loop zs = replicate 5 y for i < 5 do zs with [i] = zs[i] * x + i32.i64 i
        let s = loop s = 0 for i < m do s * 3 + ys[i]
        in s + zs[x % 5]) ys)) xs""",
    """
    entry main [n][m] (xs: [n]i32) (ys: [m]i32): [n]i32 =
      map (\\x -> reduce i32.min (100 + x) ys + x) xs""",
    """
    entry main [n][m] (xs: [n]i32) (ys: [m]i32): [n]i32 =
      map (\\x -> reduce (\\a b -> (a + b + x) % 7) (7 - x) ys) xs""",
    """
    entry main [n][m] (xs: [n]i32) (ys: [m]i32): [n]i32 =
      map (\\x -> i32.sum (map (\\k -> ys[k % m] * x) (iota (i64.i32 x + 4)))) xs""",
], ids=["arrays", "neutral elements", "operators", "lengths"])
def test_segments_that_have_what_is_their_own_are_left_alone(text: str) -> None:
    program = programs.program(text)
    assert coarse_spaces(program) == []
    args = inputs([(9,), (7,)], np.int32)
    expected = programs.expected(text, "main", args)
    for force in plans(program.tree.entry("main")):
        actual, _ = program.run("main", args, force=force)
        np.testing.assert_array_equal(np.asarray(actual[0]), np.asarray(expected[0]))


STATES = {
    "while": "(loop (s, k) = (y, y) while k > 0 do (x, k / 2)).0",
    "while that adds": "(loop (s, k) = (y, y) while k > 0 do (s + x, k - 1)).0",
    "branch in a loop": "(loop (s, k) = (0, y) for i < 3 do "
                        "if k > i32.i64 i then (s + x, k / 2) else (s, k + 1)).0",
    "while in a loop": "(loop (s, k) = (x, y) for _i < 2 do "
                       "(loop (s, k) = (s, k) while k > 1 do (s * x + k, k - 2))).0",
    "branch with a loop": "let c = if y > 1 then loop c = 0 for i < i64.i32 y do c + i32.i64 i * y "
                          "else y in c * x + c",
    "branches in turn": "(loop (s, k) = (x, 1) for i < 4 do "
                        "let s = if k > 2 then s + x * k else s - x "
                        "let k = if i32.i64 i < y then (loop k = k for _j < i do k * 2) else 1 "
                        "in (s, k)).0",
}
"""Elements of segment ``x`` at ``y`` with variables that are equal in all segments."""


@pytest.mark.parametrize("name", STATES)
def test_variables_that_are_equal_in_all_segments_change_once_for_each(name: str) -> None:
    """Else a segment begins with what the loop of the segment before it has left."""
    text = f"""
    entry main [n][m] (xs: [n]i32) (ys: [m]i32): [n]i32 =
      map (\\x -> i32.sum (map (\\y -> {STATES[name]}) ys)) xs"""
    program = programs.program(text)
    assert coarse_spaces(program)
    args = inputs([(9,), (7,)], np.int32)
    expected = programs.expected(text, "main", args)
    for force in plans(program.tree.entry("main")):
        for setting in SETTINGS:
            actual, _ = program.run("main", args, force=force, thresholds=chosen(program, setting))
            np.testing.assert_array_equal(np.asarray(actual[0]), np.asarray(expected[0]))


GUARDED = """
entry main [n][m][p][q] (xss: [n][m]f32) (fss: [p][q]f32): [n][m]f32 =
  tabulate_2d n m (\\i j -> f32.sum (tabulate p (\\k -> f32.sum (tabulate q (\\l ->
    if i + k < n && j + l < m then xss[i + k, j + l] * fss[k, l] else 0)))))
"""
CHECKED = """
entry main [n][m][p] (xss: [n][m]i32) (fs: [p]i32) (shift: i64): [n][m]i32 =
  tabulate_2d n m (\\i j -> i32.sum (tabulate p (\\k -> i32.sum (tabulate p (\\l ->
    xss[i + k * shift, j + l * shift] * fs[l])))))
"""


@pytest.mark.parametrize("text", [GUARDED, CHECKED], ids=["guarded", "checked"])
def test_boxes_hold_nothing_that_is_beyond_an_array(simulator: str, text: str) -> None:
    checked = text is CHECKED
    rng = np.random.default_rng(3)
    args: list[Any] = [rng.integers(-3, 4, shape).astype(np.int32 if checked else np.float32)
                       for shape in [(9, 11), (3,) if checked else (3, 4)]]
    args += [0] if checked else []
    expected = programs.expected(text, "main", args)
    program = programs.program(text, simulator)
    for force in plans(program.tree.entry("main"))[2:5:2]:
        actual, _ = program.run("main", args, force=force,
                                thresholds=chosen(program, (4, 2, 2, 8, 16)))
        np.testing.assert_array_equal(np.asarray(actual[0]), np.asarray(expected[0]))


def test_no_races(simulator: str) -> None:
    script = ("import tests.codegen.segops.test_segred_blocked as t\n"
              "import numpy as np\n"
              "from tests import programs\n"
              "from runelift.runtime.versions.forest import plans\n"
              "for name in ('flat', 'tall', 'cube', 'pairs'):\n"
              "    text, cases, dtype = t.PROGRAMS[name]\n"
              f"    program = programs.program(text, {simulator!r})\n"
              "    args = t.inputs(cases[0], dtype)\n"
              "    expected = programs.expected(text, 'main', args)\n"
              "    versions = plans(program.tree.entry('main'))\n"
              "    for number in t.VERSIONS[name]:\n"
              "        for setting in ((4, 2, 1, 8, 16), (2, 2, 4, 16, 1), (2, 2, 4, 16, 16)):\n"
              "            found, _ = program.run('main', args, force=versions[number],\n"
              "                                   thresholds=t.chosen(program, setting))\n"
              "            for want, got in zip(expected, found, strict=True):\n"
              "                np.testing.assert_array_equal(np.asarray(got), np.asarray(want))\n")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          check=False, env={**os.environ, "OCLGRIND_DATA_RACES": "1"})
    assert done.returncode == 0, done.stderr
    assert not any(word in done.stderr for word in ("race", "Invalid", "divergence"))


MARGIN = """
entry main [n][m][p][q] (xss: [n][m]f32) (fss: [p][q]f32) (rim: f32): [n][m]f32 =
  let windows = lift.slide2d p 1 q 1 (lift.pad2d (p - 1) 0 1 (q - 2) rim xss) :> [n][m][p][q]f32
  in map (map (\\w -> f32.sum (map2 (\\a b -> f32.sum (map2 (*) a b)) w fss))) windows
"""


@cache
def without_stored_margins() -> Compiled:
    """The program, for tests in which no margin is stored: its plans are made there."""
    return compile_source(Source("<source>", MARGIN), policy="all")


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("shape", [(9, 21), (1, 1), (2, 40)])
def test_margins_are_tested_where_boxes_are_filled(shape: tuple[int, int], installed: DeviceInfo,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the margin is not stored."""
    monkeypatch.setattr(host, "store_margins", lambda fun, *_, **__: fun)
    program = Program(without_stored_margins(), installed, policy="all")
    filled = [line for line in program.source("imp").splitlines() if "store.f32 box" in line]
    assert any("select.f32" in line for line in filled)
    args = [*inputs([shape, (3, 4)], np.float32), np.float32(5)]
    expected = programs.expected(MARGIN, "main", args)
    for force in plans(program.tree.entry("main")):
        for setting in SETTINGS[:2]:
            actual, _ = program.run("main", args, force=force,
                                    thresholds=chosen(program, setting))
            np.testing.assert_array_equal(np.asarray(actual[0]), np.asarray(expected[0]))
