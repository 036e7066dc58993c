"""Maps whose work-items have several points: the same answers for all widths and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from runelift.codegen.plan import plan
from runelift.codegen.plan.shapes import MapWidth
from runelift.ir.base.errors import RuneliftError
from runelift.ir.prim import Prim
from runelift.ir.syntax import Level, SegMap
from runelift.ir.types import i64
from runelift.runtime.versions.forest import plans
from tests.codegen.harness import FLAT, LOCKSTEP, WIDTH, agree, noted
from tests.codegen.segops.test_segops import Points
from tests.programs import agree as versions_agree
from tests.programs import compiled, expected, program

I64 = Prim.I64

SHIFTED = "entry main [n] (xs: [n]i32): [n]i32 = map (\\i -> xs[i] - xs[(i + 1) % n]) (iota n)"
TWO = """
entry main [n] (xs: [n]i32): ([n]i64, [n]bool) = unzip (map (\\x -> (i64.i32 x * 3, x > 2)) xs)
"""
IN_PLACE = """
entry main [n] (xs: *[n]i32): [n]i32 = xs with [n / 3:] = map (\\x -> 2 * x) xs[n / 3:]
"""
GRID = """
entry main [n] (xs: [n]i32): [][]i32 =
  let at i j = xs[i64.max 0 (i64.min (n - 1) (i * 3 + j))]
  in tabulate_2d (n / 3) 5 (\\i j -> at (i - 1) j + at i j * 2 + at (i + 1) j)
"""
CUBE = """
entry main [n] (xs: [n]i32): [][][]i32 =
  tabulate_3d 2 (n / 4) 3 (\\h i j -> if i > 1 then xs[i - 1] + xs[h] else i32.i64 (h * j))
"""
LOOP = """
entry main [n] (xs: [n]i32): [n]i32 =
  loop ys = xs for k < 9 do map (\\i -> ys[i] + ys[(i * 7 + k) % n] % 5) (iota n)
"""
PROGRAMS = {"shifted": SHIFTED, "two": TWO, "in-place": IN_PLACE, "grid": GRID, "cube": CUBE,
            "loop": LOOP}


@pytest.fixture
def widths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many points the work-items of maps had so far."""
    return noted(monkeypatch, "MapWidth", "width")


@pytest.mark.parametrize("flat", [0, 1])
@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (16,), (41,), (3, 5), (4, 1), (1, 9), (5, 0),
                                   (2, 3, 4), (3, 1, 2)], ids=str)
def test_every_point_is_computed_once(shape: tuple[int, ...], width: int, flat: int) -> None:
    """The interpreter of kernels finds two work-items that write the same place."""
    p = Points(shape)
    body = p.body.body(p.body.mul(p.x, p.x), p.body.add(p.x, i64(1)))
    agree(SegMap(Level.GRID, p.space, body, (I64, I64)), [p.all(I64)] * 2, p.args,
          p.builder.names, {WIDTH: width, FLAT: flat, LOCKSTEP: 1})


@pytest.mark.parametrize(("on", "sizes", "wanted"), [
    ("pocl", [0, 1, 16, 33, 100], [0, 2, 4, 16]), ("oclgrind", [33, 600], [0, 4])])
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=list(PROGRAMS))
def test_programs(text: str, on: str, sizes: Sequence[int], wanted: Sequence[int],
                  widths: list[int]) -> None:
    wide = program(text, on, interleaves=True)
    names = [name for name in wide.kernel_parameters() if name.endswith(".width")]
    assert names
    for n in sizes:
        rng = np.random.default_rng(n)
        rows = rng.integers(-50, 50, n).astype(np.int32)
        if text == LOOP and n == 0:
            continue
        meant = arrays(expected(text, "main", [rows]))
        for force, width in product(plans(wide.tree.entry("main")), wanted):
            got, _ = wide.run("main", [rows.copy()], force=force,
                              thresholds=dict.fromkeys(names, width))
            for each, right in zip(arrays(got), meant, strict=True):
                np.testing.assert_array_equal(each, right)
    assert max(widths) > 1


@pytest.mark.parametrize("n", [3, 64, 65])
def test_the_first_that_fails_is_found_in_every_place(n: int) -> None:
    gather = program("entry main [n] (xs: [n]i32) (is: [n]i64): [n]i32 = map (\\i -> xs[i]) is",
                     interleaves=True)
    (name,) = (name for name in gather.kernel_parameters() if name.endswith(".width"))
    for wrong in (0, n // 2, n - 1):
        places = np.arange(n)
        places[wrong] = n + wrong
        with pytest.raises(RuneliftError, match=str(n + wrong)):
            gather.run("main", [np.zeros(n, np.int32), places], thresholds={name: 4})


def test_large_maps_have_wide_kernels_where_neighbours_run_together(widths: list[int]) -> None:
    """The simulator holds 64 work-items at once."""
    added = program("entry main [n] (xs: [n]f32): [n]f32 = map (+ 1) xs", "oclgrind")
    for n in (127, 128, 255, 256):
        (got,), _ = added.run("main", [np.ones(n, np.float32)])
        np.testing.assert_array_equal(np.asarray(got), np.full(n, 2, np.float32))
    assert widths == [1, 2, 2, 4]


def test_what_work_items_keep_bounds_the_width() -> None:
    many = ", ".join(f"x * {k}" for k in range(20))
    types = ", ".join(["[n]f64"] * 20)
    for text, most in [
            ("entry main [n] (xs: [n]f32): [n]f32 = map (+ 1) xs", 16),
            (f"entry main [n] (xs: [n]f64): ({types}) = unzip20 xs", 0)]:
        if not most:
            text = (f"entry main [n] (xs: [n]f64): ({types}) =\n  let rs = map (\\x -> ({many})) xs"
                    f"\n  in ({', '.join(f'map (.{k}) rs' for k in range(20))})")
        spaces = program(text, interleaves=True).spaces("main")
        found = [each.values for space in spaces for each in space.ranges
                 if each.parameter.name.endswith(".width")]
        assert [max(values) for values in found] == ([most] if most else [])


def test_maps_with_loops_have_a_work_item_for_each_point() -> None:
    loops = compiled("entry main [n] (xs: [n]i32): [n]i32 ="
                     " map (\\x -> loop y = x for _i < x do y * 3) xs")
    steps = list(plan.all_steps(loops.plan("main").steps))
    assert not any(isinstance(step, MapWidth) for step in steps)


def test_processors_have_a_work_item_for_each_row() -> None:
    """All arrangements agree: rows, and points where there is one row."""
    for text in (GRID, CUBE):
        rowwise = program(text)
        assert not [name for name in rowwise.kernel_parameters() if name.endswith(".width")]
        for n in (0, 1, 3, 4, 5, 33, 100):
            rows = np.arange(n, dtype=np.int32) * 3 % 17
            versions_agree(rowwise, "main", [rows], expected(text, "main", [rows]))


@pytest.mark.parametrize("flat", [0, 2])
@pytest.mark.parametrize("shape", [(3, 5), (4, 1), (1, 9), (5, 0), (2, 3, 4), (3, 1, 2)], ids=str)
def test_every_point_of_a_processor_is_computed_once(shape: tuple[int, ...], flat: int) -> None:
    p = Points(shape)
    body = p.body.body(p.body.mul(p.x, p.x), p.body.add(p.x, i64(1)))
    agree(SegMap(Level.GRID, p.space, body, (I64, I64)), [p.all(I64)] * 2, p.args,
          p.builder.names, {WIDTH: 1, FLAT: flat, LOCKSTEP: 0})


def arrays(values: Any) -> list[np.ndarray[Any, Any]]:
    """The results as arrays."""
    return [np.asarray(value) for value in values]
