"""The functions of the prelude that are written in the language."""

from __future__ import annotations

import numpy as np

import runelift


def test_members_of_built_in_modules() -> None:
    """What they name of built-in modules is found, though programs may hide these modules."""
    program = runelift.compile("def main (x: i32) (y: f32) = let f32 = {i32 = 7i32} in\n"
                               "  (t32 (r32 x + y), f32.i32)", device="interpreter")
    assert program.main(np.int32(3), np.float32(0.5)) == (3, 7)
