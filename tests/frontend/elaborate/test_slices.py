"""Slices: which elements they have, and when they are out of bounds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ProgramFailure

SIZE = 3
PLACES = range(-2, SIZE + 3)
FORMS = ("i:j:s", "i:j", "i:", ":j", "i::s", ":j:s", "::s", "i:j:-1", "i:j:2", "i:j:-2", "i::-1")


def places(start: int | None, stop: int | None, step: int) -> list[int] | None:
    """The indices that a slice selects, as Futhark defines them; None if it is out of bounds."""
    if step == 0:
        return None
    start = (SIZE - 1 if step < 0 else 0) if start is None else start
    stop = (-1 if step < 0 else SIZE) if stop is None else stop
    reach = stop - start + (step - (step > 0) + (step < 0))
    count = abs(reach) // abs(step) * (1 if (reach < 0) == (step < 0) else -1)
    if count == 0:
        return []
    found = [start + k * step for k in range(count)]
    inside = all(0 <= place < SIZE for place in found) and (step > 0 or stop >= -1)
    return found if count > 0 and inside else None


@pytest.mark.parametrize("form", FORMS)
def test_slices_of_all_directions(form: str) -> None:
    program = runelift.compile(
        "def main (xs: [3]i32) (i: i64) (j: i64) (s: i64): []i32 = "
        f"xs[{form}]", device="interpreter")
    parts = [*form.split(":"), "1"][:3]
    values = np.array([5, 6, 7], np.int32)
    for i, j, s in product(PLACES, PLACES, (-2, -1, 0, 1, 2)):
        known = {"i": i, "j": j, "s": s, "": None}
        start, stop, step = (known[p] if p in known else int(p) for p in parts)
        wanted = places(start, stop, 1 if step is None else step)
        if wanted is None:
            with pytest.raises(ProgramFailure, match="out of bounds"):
                program.main(values, i, j, s)
        else:
            assert program.main(values, i, j, s).tolist() == values[wanted].tolist()


def test_updates_of_slices_go_down() -> None:
    program = runelift.compile(
        "def main (xs: *[5]i32) (s: i64): [5]i32 = xs with [4:0:s] = [1, 2]", device="interpreter")
    assert program.main(np.zeros(5, np.int32), -2).tolist() == [0, 0, 2, 0, 1]
    with pytest.raises(ProgramFailure, match=r"out of bounds|should be equal"):
        program.main(np.zeros(5, np.int32), 2)


@pytest.mark.parametrize("text", ["xs[i:0:s]", "xs[::s]", "xs[:i:s]"])
def test_devices_agree(text: str) -> None:
    source = ("def main (xs: [4]i32) (i: i64) (s: i64) = "
              f"map (\\k -> i32.sum {text} + i32.i64 k) (iota 3)")
    programs = [runelift.compile(source, device=device) for device in ("interpreter", None)]
    values = np.array([1, 10, 100, 1000], np.int32)
    for step in (-2, -1, 1, 2):
        answers: list[list[int] | str] = []
        for program in programs:
            try:
                answers.append(program.main(values, 3, step).tolist())
            except ProgramFailure as failure:
                answers.append(str(failure).split("\n")[0])
        assert answers[0] == answers[1]


@pytest.mark.parametrize(("form", "size"), [
    ("i:j", "j - i"), ("i:", "3 - i"), (":j", "j"), ("i:j:1", "j - i"),
    ("i:j:2", "(j - i + 1) // 2"), ("i::3", "(3 - i + 2) // 3"), ("::2", "(3 + 1) // 2"),
    ("i:j:-1", "i - j"), ("i::-1", "i + 1"), (":j:-1", "2 - j"), ("::-1", "3"),
    ("i:j:-2", "(j - i - 1) // -2"), (":j:-2", "(j - 2 - 1) // -2"),
    ("i::-3", "(-1 - i - 2) // -3"),
])
def test_sizes_of_constant_steps(form: str, size: str) -> None:
    """Rows are sliced alike, and the type of a slice says how long it is."""
    program = runelift.compile(
        f"def main (rows: [][{SIZE}]i64) (i: i64) (j: i64) =\n"
        f"  map (\\row -> map2 (+) row[{form}] (replicate ({size}) 10)) rows",
        device="interpreter")
    start, stop, step = ([*form.split(":"), "", ""])[:3]
    for i, j in product(PLACES, PLACES):
        found = places(i if start else None, j if stop else None, int(step or 1))
        rows = np.arange(SIZE)[None].repeat(2, 0)
        if found is None:
            with pytest.raises(ProgramFailure):
                program.main(rows, i, j)
        else:
            expected = (np.array(found, np.int64) + 10)[None].repeat(2, 0)
            np.testing.assert_array_equal(program.main(rows, i, j), expected)
