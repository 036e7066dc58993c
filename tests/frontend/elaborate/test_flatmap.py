"""``flatmap``: rows of different sizes joined, beside a model in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runelift

PROGRAM = """\
entry rows [n] (ks: [n]i64) = flatmap' (\\k -> map (* k) (iota k)) ks
entry kept [n] (ks: [n]i64) = flatmap' (\\k -> filter (> k) ks) ks
entry equal [n] (ks: [n]i64) = flatmap' (\\k -> [k, k + 1, k + 2]) ks
entry named [n] (ks: [n]i64) = flatmap' iota ks
entry wide [n] (ks: [n]i64) = flatmap' (\\k -> replicate k [k, 2 * k]) ks
entry pairs [n] (ks: [n]i64) =
  flatmap' (\\k -> zip (iota k) (map (f32.i64 >-> (/ 2)) (iota k))) ks
entry valued [n] (ks: [n]i64) = flatmap (\\k -> (iota k, (k, [k, -k]))) ks
entry chosen [n] (ks: [n]i64) = flatmap' (\\k -> if k > 2 then iota k else ks) ks
entry nested [n] (ks: [n]i64) = flatmap' (\\k -> (flatmap' iota (iota k)).3) ks
entry looped [n] (ks: [n]i64) =
  flatmap' (\\k -> loop xs = [k] for i < k do xs ++ [i]) ks
entry within [n] (ks: [n]i64) = map (\\k -> i64.sum (flatmap' iota (iota k)).3) ks
entry filtered [n] (ks: [n]i64) =
  map (\\k -> i64.sum (flatmap' (\\i -> filter (< i) (iota k)) (iota k)).3) ks
entry scanned [n] (ks: [n]i64) =
  flatmap' (\\k -> reverse (scan (+) 0 (iota k))) ks
entry unused [n] (ks: [n]i64) = (flatmap' iota ks).0
"""

Rows = Callable[[int, list[int]], list[Any]]

MODELS: dict[str, Rows] = {
    "rows": lambda k, ks: [k * i for i in range(k)],
    "kept": lambda k, ks: [x for x in ks if x > k],
    "equal": lambda k, ks: [k, k + 1, k + 2],
    "named": lambda k, ks: list(range(k)),
    "wide": lambda k, ks: [[k, 2 * k]] * k,
    "chosen": lambda k, ks: list(range(k)) if k > 2 else ks,
    "nested": lambda k, ks: [j for i in range(k) for j in range(i)],
    "looped": lambda k, ks: [k, *range(k)],
    "scanned": lambda k, ks: [sum(range(i + 1)) for i in reversed(range(k))],
}
LENGTHS = [[], [0], [5], [0, 0, 0], [3, 0, 1, 7], [0, 2, 9, 0], [1] * 40]


def described(rows: list[list[Any]]) -> tuple[list[int], list[bool], list[int], list[Any]]:
    """The lengths, flags, offsets and data of rows."""
    lengths = [len(row) for row in rows]
    return (lengths, [j == 0 for row in rows for j in range(len(row))],
            [sum(lengths[:i]) for i in range(len(rows))], [x for row in rows for x in row])


@pytest.fixture(scope="module", params=["interpreter", "best"])
def program(request: pytest.FixtureRequest) -> runelift.Program:
    """The program on the interpreter, and on a device."""
    device = {"device": "interpreter"} if request.param == "interpreter" else {}
    return runelift.compile(PROGRAM, **device)


@pytest.mark.parametrize("ks", LENGTHS, ids=str)
@pytest.mark.parametrize("entry", MODELS)
def test_rows(program: runelift.Program, entry: str, ks: list[int]) -> None:
    """Lengths, flags and offsets describe the joined rows; an empty row has no flag."""
    found = getattr(program, entry)(np.array(ks, np.int64))
    rows = [MODELS[entry](k, ks) for k in ks]
    assert [np.asarray(part).tolist() for part in found] == list(described(rows))


@pytest.mark.parametrize("ks", LENGTHS, ids=str)
def test_several_arrays(program: runelift.Program, ks: list[int]) -> None:
    """Rows of pairs are two arrays; values of points are joined as a map joins them."""
    *_, pairs = program.pairs(np.array(ks, np.int64))
    first, second = (np.asarray(part).tolist() for part in pairs)
    assert first == [i for k in ks for i in range(k)]
    assert second == [i / 2 for k in ks for i in range(k)]
    *_, data, values = program.valued(np.array(ks, np.int64))
    assert np.asarray(data).tolist() == first
    assert [np.asarray(part).tolist() for part in values] == [ks, [[k, -k] for k in ks]]


def test_inside_of_a_map(program: runelift.Program) -> None:
    """A point of a map joins rows of its own; what nothing uses is not made."""
    ks = np.array([4, 0, 1, 6], np.int64)
    assert program.within(ks).tolist() == [4, 0, 0, 20]
    assert program.filtered(ks).tolist() == [sum(sum(range(i)) for i in range(k)) for k in ks]
    assert program.unused(ks).tolist() == ks.tolist()


@pytest.mark.parametrize("entry", ["named", "wide", "pairs"])
def test_rows_that_are_too_many_together(program: runelift.Program, entry: str) -> None:
    """The sum of their lengths would wrap around."""
    for ks in ([1 << 62] * 4, [5] + [1 << 61] * 8 + [3]):
        with pytest.raises(runelift.CompilerLimitation, match="2\\^63 elements or more in all"):
            getattr(program, entry)(np.array(ks, np.int64))


def test_negative_length(program: runelift.Program) -> None:
    """A row of negative length fails as it does outside."""
    with pytest.raises(runelift.ProgramFailure, match="The size -1 is negative"):
        program.named(np.array([2, -1], np.int64))
