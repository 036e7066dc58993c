"""The sizes of the schedules that the thesis found for layers 19 and 21 of VGG-16.

Source: Mogers 2023, tables 6.2 and 6.3: 512 channels, 28 x 28 pixels, 512 filters of 3 x 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from runelift.ir.syntax import Map, Redomap, Reshape, Stm
from runelift.ir.types import Const, shape_of
from runelift.rewrite.lift.points import BOOK
from tests.rewrite.lift.points.applying import Given, apply, early, late

GEMM = """
entry main (windows: [784][4608]f32) (filters: [512][4608]f32): [784][512]f32 =
  map (\\w -> map (\\f -> reduce (+) 0 (map2 (*) w f)) filters) windows
"""
DIRECT = """
entry main (windows: [28][28][4608]f32) (filters: [512][4608]f32): [28][28][512]f32 =
  map (map (\\w -> map (\\f -> reduce (+) 0 (map2 (*) w f)) filters)) windows
"""


def widths(text: str, points: Sequence[tuple[str, Given]]) -> list[list[int]]:
    """The widths of loops in each other after points, each at what the one before rewrote."""
    program, names = late(text)
    place = ""
    for point, given in points:
        found = apply(program, names, BOOK[point], given,
                      where=lambda stm, place=place: not place or str(stm.pat[0].name) == place)
        assert found.done, (point, found.reasons)
        assert not found.constraints
        program, place = found.program, found.inner
    return [loops(stm) for stm in program.funs[0].body.stms if isinstance(stm.exp, Map)]


def loops(stm: Stm) -> list[int]:
    """The widths of a nest, along the last array operation of each."""
    exp = stm.exp
    assert isinstance(exp, Map | Redomap)
    assert isinstance(exp.width, Const)
    inner = [s for s in exp.lam.body.stms if isinstance(s.exp, Map | Redomap)]
    return [int(exp.width.value), *(loops(inner[-1]) if inner else [])]


def blocks(shape: str, order: str, *factors: int) -> int:
    """The number of blocks of a layout of a matrix."""
    program, names = early(f"entry main (a: {shape}f32): {shape}f32 = map (map (+ 1)) a")
    given: Given = {"order": order, **{f"factor_{k}": f for k, f in enumerate(factors)}}
    found = apply(program, names, BOOK["layout"], given)
    assert found.done, found.reasons
    split = next(stm for stm in found.program.funs[0].body.stms if isinstance(stm.exp, Reshape))
    first, *others = (int(d.value) for d in shape_of(split.pat[0].type) if isinstance(d, Const))
    assert tuple(others) == factors
    return first


def test_gemm() -> None:
    """790 windows are 158 tiles of 5, 512 filters 128 of 4; reductions of 4608 are 1152 of 4."""
    assert widths(GEMM, [("pad_extra", {"amount": 6}), ("ab_tile", {"rows": 5, "columns": 4}),
                         ("tile_map_reduce", {"tile": 4})]) == [[158, 128, 1152, 5, 4, 4]]


def test_direct() -> None:
    """28 x 32 windows are 14 tiles of 64; reductions are 24 of 192, and those 48 of 4."""
    assert widths(DIRECT, [
        ("pad_extra", {"amount": 4}), ("join_split", {"loops": 2}),
        ("ab_tile", {"rows": 64, "columns": 4}), ("ab_tile", {"rows": 4, "columns": 4}),
        ("tile_map_reduce", {"tile": 192}), ("tile_map_reduce", {"tile": 4}),
    ]) == [[14, 128, 16, 1, 24, 48, 4, 4, 4]]


def test_layouts_of_gemm() -> None:
    assert blocks("[790][4608]", "03124", 2, 5, 1152, 4) == 79
    assert blocks("[512][4608]", "03214", 16, 4, 1152, 4) == 8


def test_layouts_of_direct() -> None:
    assert blocks("[1020][512]", "0213", 8, 48, 4) == 340
    assert blocks("[512][4608]", "01324", 1, 8, 48, 4) == 1536
