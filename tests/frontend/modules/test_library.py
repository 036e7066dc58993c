"""The functions of the prelude that are written in the language."""

from __future__ import annotations

import re

import numpy as np
import pytest

import runelift


def test_members_of_built_in_modules() -> None:
    """What they name of built-in modules is found, though programs may hide these modules."""
    program = runelift.compile("def main (x: i32) (y: f32) = let f32 = {i32 = 7i32} in\n"
                               "  (t32 (r32 x + y), f32.i32)", device="interpreter")
    assert program.main(np.int32(3), np.float32(0.5)) == (3, 7)


@pytest.mark.parametrize(("call", "value"), [
    ("(spread 4 0 [1, 3] [5, x])[3]", 3), ("(exscan (+) 0 [x, 1])[1]", 3),
    ("foldl (-) 0 [x, 1]", -4), ("foldr (-) 0 [x, 1]", 2), ("iterate 2 (* 2) x", 12),
    ("iterate_while (< 10) (* 2) x", 12), ("iterate_until (> 10) (* 2) x", 12),
    ("(sized 1 [x])[0]", 3), ("i32.f32 (r32 x)", 3), ("(replicate 3 x)[2]", 3),
])
def test_entry_point_of_the_same_name(call: str, value: int) -> None:
    """What is declared before an entry point still means the prelude by its name."""
    found = re.search(r"\b(?!i32)\w+(?= )", call)
    assert found is not None
    program = runelift.compile(
        f"def before (x: i32): i32 = {call}\n"
        f"entry {found[0]} (x: i32): i32 = before x + 100\n"
        f"entry main (x: i32): i32 = {found[0]} x + 1000", device="interpreter")
    x = np.int32(3)
    assert (program.run(found[0], [x])[0][0], program.main(x)) == (value + 100, value + 1100)
