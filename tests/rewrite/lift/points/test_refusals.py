"""Points say why they do not match."""

from __future__ import annotations

import pytest

from runelift.rewrite.lift.points import BOOK
from tests.rewrite.lift.points import applying
from tests.rewrite.lift.points.applying import Given, apply, early, late

TRIANGLE = """
entry main [n] (a: [n]i32): [n]i32 =
  map (\\i -> reduce (+) 0 (map (\\j -> #[unsafe] a[j]) (iota i))) (iota n)
"""
COSTLY = """
entry main [n][m] (a: [n][m]f32): [n][m]f32 =
  map (\\row -> let s = f32.sum row in map (\\x -> x / s) row) a
"""
CHECKED = """
entry main [n][m] (a: [n][m]i32) (at: [n]i64): [n][m]i32 =
  map2 (\\row i -> let s = row[i] in map (\\x -> x * s) row) a at
"""
ASSERTED = """
entry main [n][m] (a: [n][m]i32) (k: [n]i32): [n][m]i32 =
  map2 (\\row i -> let s = assert (i > 0) i in map (\\x -> x * s) row) a k
"""
SQUARES = """
entry main [n] (k: [n]i64): [n]i64 = map (\\m -> i64.sum (map (\\i -> i * i) (iota m))) k
"""
DIVIDED = """
entry main [n] (a: [n]i32) (b: [n][3]i32): [n]i32 = map2 (\\x r -> #[unsafe] r[i64.i32 x]) a b
"""
ARRAYS = """
entry main [n] (a: [n]i32): (i32, [n]i32) =
  let b = map (\\x -> x * x) a in (reduce (+) 0 b, b)
"""
DIFFERENT = """
entry main [n][k] (a: [n][k]i32) (b: [n]i32): [n]i32 =
  map2 (\\row c -> reduce (\\x y -> i32.min c (x + y)) 0 row) a b
"""
CONSTANT = """
entry main (a: [30]i32): [30]i32 = map (\\x -> x * x) a
"""

REFUSED: list[tuple[str, str, Given, str]] = [
    ("interchange", COSTLY, {}, "'r' is computed between its maps, and costs too much"),
    ("interchange", CHECKED, {}, "a check stands between its maps"),
    ("interchange", ASSERTED, {}, "a check stands between its maps"),
    ("interchange", applying.ROW_SUMS, {}, "its function does not end with a map"),
    ("join_split", CONSTANT, {}, "its function does not end with a map"),
    ("ab_tile", COSTLY, {"rows": 2, "columns": 2}, "costs too much"),
    ("split_join", CONSTANT, {"tile": 7}, "7 does not divide 30, 30 % 7 = 2"),
    ("tile_map_reduce", CONSTANT, {"tile": 2}, "no reduction stands in its innermost map"),
    ("tile_map_reduce", TRIANGLE, {"tile": 2}, "the reduction has another length for each element"),
    ("tile_map_reduce", SQUARES, {"tile": 2}, "a check stands before the reduction"),
    ("tile_map_reduce", ARRAYS, {"tile": 2}, "makes further arrays besides its sums"),
    ("tile_map_reduce", DIFFERENT, {"tile": 2}, "its operator differs between elements"),
    ("interchange_reduce", applying.SUM, {"position": 1}, "its neutral element is not replicated"),
    ("interchange_reduce", applying.VECTORS, {"position": 2}, "not replicated along all"),
    ("privatise", ARRAYS, {}, "makes further arrays besides its sums"),
    ("pad_extra", CONSTANT, {"amount": 2, "loop": 3}, "it has not so many loops"),
    ("pad_extra", applying.SUM, {"amount": 2, "loop": 2}, "it has one loop"),
]


@pytest.mark.parametrize(("point", "text", "given", "reason"), REFUSED)
def test_a_point_says_why_it_does_not_match(point: str, text: str, given: Given, reason: str
                                            ) -> None:
    program, names = late(text)
    outer = {p.name for stm in program.funs[0].body.stms for p in stm.pat}
    found = apply(program, names, BOOK[point], given, where=lambda stm: stm.pat[0].name in outer)
    assert not found.done
    assert any(reason in each for each in found.reasons), found.reasons


EARLY: list[tuple[str, str, Given, str]] = [
    ("kernel_fission", CONSTANT, {}, "it has no two inside"),
    ("materialise", CONSTANT, {"space": "local"}, "it does not stand in a map"),
    ("materialise", applying.SUM, {"space": "global"}, "it makes a number"),
    ("layout", CONSTANT, {"order": "10"}, "order has 2 digits, and the array has 1 dimensions"),
    ("layout", CONSTANT, {"order": "10", "factor_0": 4}, "4 does not divide 30, 30 % 4 = 2"),
    ("layout", CONSTANT, {"order": "10", "factor_1": 5}, "there are at most 1 factors"),
]


@pytest.mark.parametrize(("point", "text", "given", "reason"), EARLY)
def test_a_point_across_kernels_says_why_it_does_not_match(
        point: str, text: str, given: Given, reason: str) -> None:
    program, names = early(text)
    found = apply(program, names, BOOK[point], given,
                  where=lambda stm: point != "materialise" or "Redomap" in str(type(stm.exp))
                  or given["space"] == "local")
    assert not found.done
    assert any(reason in each for each in found.reasons), found.reasons


def test_elements_of_padding_are_not_looked_at() -> None:
    """A function that reads at a place that an element names runs for elements alone."""
    program, names = late(DIVIDED)
    found = apply(program, names, BOOK["pad_extra"], {"amount": 3})
    assert found.done, found.reasons
    for n in (0, 1, 4):
        places = applying.numbers(1, n) % 3
        applying.same(program, found.program, [places, applying.numbers(2, n, 3)])
