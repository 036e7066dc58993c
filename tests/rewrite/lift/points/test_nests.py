"""Points on nests of maps and reductions keep types and results, alone and after each other."""

from __future__ import annotations

import random
from typing import Any

import pytest

from runelift.ir.points import Number
from runelift.rewrite.lift.points import BOOK
from tests.rewrite.lift.points import applying
from tests.rewrite.lift.points.applying import Given, apply, holds, late, numbers, same

PROGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "matmul": (applying.MATMUL, ("nk", "km")), "scaled": (applying.SCALED, ("nk", "mk", "n")),
    "row sums": (applying.ROW_SUMS, ("nk",)), "sum": (applying.SUM, ("k",)),
    "minmax": (applying.MINMAX, ("nk",)), "vectors": (applying.VECTORS, ("kn",)),
    "matrices": (applying.MATRICES, ("kn", "km")), "outer": (applying.OUTER, ("n", "m")),
    "stencil": (applying.STENCIL, ("nm",)), "elements": (applying.ELEMENTS, ("nm",)),
    "rows between": (applying.ROWS_BETWEEN, ("nm", "n")),
    "three": (applying.THREE, ("nml", "m")), "convolution": (applying.CONVOLUTION, ("cn", "kc3")),
    "parts": (applying.PARTS, ("n",)), "moving sums": (applying.MOVING_SUMS, ("n",)),
}
"""Programs, and the shapes of their arguments in letters."""

ALONE: list[tuple[str, str, Given]] = [
    ("interchange", "matmul", {}), ("interchange", "scaled", {}), ("interchange", "outer", {}),
    ("interchange", "stencil", {}), ("interchange", "elements", {}),
    ("interchange", "rows between", {}), ("interchange", "three", {}),
    ("interchange", "convolution", {}), ("interchange", "parts", {}),
    *(("ab_tile", name, {"rows": 2, "columns": 3}) for name in (
        "matmul", "scaled", "outer", "stencil", "elements", "rows between", "three",
        "convolution")),
    ("ab_tile", "parts", {"rows": 1, "columns": 3}),
    *(("tile_map_reduce", name, {"tile": 4}) for name in (
        "matmul", "scaled", "row sums", "sum", "minmax", "vectors", "moving sums")),
    ("tile_map_reduce", "convolution", {"tile": 3}),
    *(("tile_map_reduce", name, {"tile": 4, "copies": "local"}) for name in (
        "matmul", "scaled", "row sums", "sum", "minmax", "vectors", "moving sums")),
    *(("ab_tile", name, {"rows": 2, "columns": 3, "copies": "private"}) for name in (
        "matmul", "three", "outer")),
    *(("pad_extra", name, {"amount": 3, "loop": loop, "form": form})
      for name, loops in (("matmul", 3), ("scaled", 3), ("row sums", 2), ("sum", 1),
                          ("minmax", 2), ("vectors", 1), ("outer", 2), ("stencil", 2),
                          ("elements", 2), ("rows between", 2), ("three", 3), ("parts", 2),
                          ("moving sums", 2))
      for loop in range(1, loops + 1) for form in ("exactly", "multiple")),
    *(("privatise", name, {}) for name in ("matmul", "row sums", "sum", "minmax", "vectors",
                                           "matrices", "convolution")),
    ("interchange_reduce", "vectors", {"position": 1}),
    ("interchange_reduce", "matrices", {"position": 1}),
    ("interchange_reduce", "matrices", {"position": 2}),
    *(("join_split", name, {}) for name in (
        "matmul", "scaled", "outer", "stencil", "elements", "rows between", "three",
        "convolution", "parts")),
]
SIZES = [{"n": 4, "m": 6, "k": 8, "l": 3, "c": 3}, {"n": 2, "m": 3, "k": 4, "l": 1, "c": 3},
         {"n": 0, "m": 6, "k": 8, "l": 3, "c": 3}, {"n": 4, "m": 0, "k": 4, "l": 0, "c": 6},
         {"n": 4, "m": 3, "k": 0, "l": 2, "c": 0}, {"n": 1, "m": 1, "k": 1, "l": 1, "c": 1},
         {"n": 5, "m": 9, "k": 7, "l": 2, "c": 3}, {"n": 6, "m": 9, "k": 12, "l": 2, "c": 9}]

SHORTEST = {"convolution": 2, "parts": 2, "moving sums": 39}
"""The lengths of arrays that have no window."""


def arguments(name: str, sizes: dict[str, int]) -> list[Any]:
    return [numbers(seed, *(int(d) if d.isdigit() else sizes[d] for d in shape))
            for seed, shape in enumerate(PROGRAMS[name][1])]


@pytest.mark.parametrize(("point", "name", "given"), ALONE,
                         ids=[f"{p}-{n}-{'-'.join(map(str, g.values()))}" for p, n, g in ALONE])
def test_point_alone_keeps_the_meaning(point: str, name: str, given: Given) -> None:
    program, names = late(PROGRAMS[name][0])
    new = apply(program, names, BOOK[point], given)
    assert new.done, new.reasons
    tried = 0
    for sizes in SIZES:
        sizes = {**sizes, "n": sizes["n"] + SHORTEST.get(name, 0)}
        if holds(new, **sizes, t=sizes["n"] - SHORTEST.get(name, 0)):
            tried += 1
            same(program, new.program, arguments(name, sizes))
    assert tried > 1


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(6))
def test_points_after_each_other_keep_the_meaning(name: str, seed: int) -> None:
    """Three points in any order with any tiles, at any statement, at sizes that they fit."""
    chance = random.Random(f"{name} {seed}")
    program, names = late(PROGRAMS[name][0])
    last, sizes = program, {"n": 12, "m": 4, "k": 8, "l": 4, "c": 4}
    applied: list[str] = []
    for _ in range(60):
        point = chance.choice(list(BOOK.values()))
        given: Given = {
            p.name: chance.choice([1, 2, 4]) if isinstance(p, Number) else chance.choice(p.words)
            for p in point.parameters}
        new = apply(last, names, point, given, skip=chance.choice([0, 0, 1]))
        known = {v.base for c in new.constraints for v in c.variables()}
        if new.done and known <= sizes.keys() and holds(new, **sizes):
            last = new.program
            applied.append(point.name)
        if len(applied) == 3:
            break
    assert applied
    sizes["n"] += SHORTEST.get(name, 0)
    same(program, last, arguments(name, sizes))
