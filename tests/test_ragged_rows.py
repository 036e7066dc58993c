"""Rows of different lengths: laws that every version keeps, with NumPy, and where programs fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runelift.ir.base.errors import ProgramFailure, VersionUnavailable
from runelift.runtime.data.lengths import SHAPES, Lengths, draw
from runelift.runtime.versions.forest import plans
from tests import programs

TEXT = """
entry sums [n][m] (start: [n]i64) (len: [n]i64) (xs: [m]i64): [n]i64 =
  map2 (\\o l -> i64.sum xs[o:o + l]) start len
entry weighted [n][m][k] (start: [n]i64) (len: [n]i64) (cols: [m]i64) (vals: [m]i64)
                         (v: [k]i64): [n]i64 =
  map2 (\\o l -> i64.sum (map (\\(c, x) -> x * v[c]) (zip cols vals)[o:o + l])) start len
entry squares [n] (ks: [n]i64): [n]i64 = map (\\k -> i64.sum (map (\\i -> i * i) (iota k))) ks
entry mirrored [n][m] (start: [n]i64) (len: [n]i64) (xs: [m]i64): [n]bool =
  map2 (\\o l -> all (\\i -> xs[o + i] == xs[o + l - 1 - i]) (iota (l / 2))) start len
entry lower [m] (n: i64) (xs: [m]i64): [n]i64 =
  tabulate n (\\i -> i64.sum (map (\\j -> xs[i * (i + 1) / 2 + j]) (iota (i + 1))))
"""
PLACES = ("first", "middle", "last")


def rows(lengths: Lengths) -> tuple[Any, Any]:
    """The starts of packed rows, and their elements: few values, so that some rows mirror."""
    return np.cumsum(lengths) - lengths, np.random.default_rng(2).integers(0, 3, lengths.sum())


def sums_of(start: Any, length: Lengths, xs: Any) -> Any:
    """The sums of rows by NumPy."""
    before = np.concatenate([[0], np.cumsum(xs)])
    return before[start + length] - before[start]


def agree(entry: str, args: list[Any], wanted: Any) -> None:
    """Every version has the wanted result."""
    assert programs.agree(programs.program(TEXT), entry, args, [wanted], but=(VersionUnavailable,))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_version_agrees_with_numpy(shape: str) -> None:
    for n, cap in ((0, 5), (1, 300), (37, 70)):
        length = draw(n, shape, cap, n)
        start, xs = rows(length)
        rng = np.random.default_rng(3)
        cols, v = rng.integers(0, 9, len(xs)), rng.integers(-9, 9, 9)
        agree("sums", [start, length, xs], sums_of(start, length, xs))
        agree("weighted", [start, length, cols, xs, v], sums_of(start, length, xs * v[cols]))
        agree("squares", [length], (length - 1) * length * (2 * length - 1) // 6)
        parts = [xs[o:o + k] for o, k in zip(start, length, strict=True)]
        agree("mirrored", [start, length, xs],
              np.array([np.array_equal(part, part[::-1]) for part in parts], bool))


def test_places_may_have_a_closed_form() -> None:
    for n in (0, 1, 40):
        length = draw(n, "ascending", n)
        start, xs = rows(length)
        agree("lower", [n, xs], sums_of(start, length, xs))


@pytest.mark.parametrize("shape", ["power", "alternating"])
def test_rows_do_not_know_each_other(shape: str) -> None:
    """Rows in another order, rows that overlap, and empty rows between them change no other row."""
    length = draw(50, shape, 40, 1)
    start, xs = rows(length)
    wanted = sums_of(start, length, xs)
    order = np.random.default_rng(4).permutation(50)
    agree("sums", [start[order], length[order], xs], wanted[order])
    twice = np.repeat(np.arange(50), 2)
    agree("sums", [start[twice], length[twice], xs], wanted[twice])
    empty = np.arange(100) % 2
    agree("sums", [start[twice], length[twice] * empty, xs], wanted[twice] * empty)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("entry", "wrong"), [
    ("sums", "long"), ("sums", "negative"), ("squares", "negative"), ("weighted", "column")])
def test_one_row_that_fails(entry: str, wrong: str, place: str) -> None:
    """The failure is the interpreter's, wherever the row is, and in every version."""
    length = draw(9, "uniform", 6, 5)
    start, xs = rows(length)
    cols, at = np.zeros(len(xs), np.int64), {"first": 0, "middle": 4, "last": 8}[place]
    match wrong:
        case "long":
            length[at] += len(xs)
        case "negative":
            length[at] = -2
        case "column":
            cols[start[at]] = 5
    args = {"sums": [start, length, xs], "squares": [length],
            "weighted": [start, length, cols, xs, np.ones(5, np.int64)]}[entry]
    with pytest.raises(ProgramFailure) as expected:
        programs.expected(TEXT, entry, args)
    program = programs.program(TEXT)
    for force in plans(program.tree.entry(entry)):
        with pytest.raises(ProgramFailure) as found:
            program.run(entry, args, force=force)
        assert found.value.code == expected.value.code


def test_empty_rows_do_not_fail() -> None:
    """What only elements would do wrong does not happen in rows without elements."""
    length = draw(9, "empty", 6)
    start = np.arange(9) % 2
    agree("weighted", [start, length, np.full(1, 7), np.ones(1, np.int64), np.ones(5, np.int64)],
          length)
