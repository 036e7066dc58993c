"""Ranges of indices that run in steps."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.frontend.load import load
from runelift.ir.base.source import Source
from runelift.ir.names import Names
from runelift.ir.pretty import pretty
from runelift.rewrite.pipeline import optimise

PROGRAM = """
entry main [n] (xs: [n]i32) =
  map (\\i -> i32.sum (map (\\q ->
    let at = {step} * i + q - {before}
    in i32.i64 (q + 1) * if 0 <= at && at < n then xs[at] else 0)
      (iota {width}))) (iota ({count}))
"""


def optimised(text: str) -> str:
    names = Names()
    return pretty(optimise(load(Source("steps.fut", text), names), names))


@pytest.mark.parametrize(("step", "before", "width", "count", "is_pad"), [
    (2, 1, 36, "n / 2", True), (2, 1, 36, "(n + 1) / 2", True), (3, 1, 35, "(n + 2) / 3", True),
    (2, 1, 36, "(n - 1) / 2 + 1", True), (4, 2, 40, "n / 4", True), (2, 1, 36, "n / 3", False),
    (3, 1, 36, "n / 2", False)])
def test_windows_with_steps_have_margins(step: int, before: int, width: int, count: str,
                                         is_pad: bool) -> None:
    """A pad is made where a bound of the last window is known, and is as long as is needed."""
    text = PROGRAM.format(step=step, before=before, width=width, count=count)
    assert ("= pad" in optimised(text)) == is_pad
    program = runelift.compile(text, device="pocl", tuning={})
    reference = runelift.compile(text, device="interpreter")
    for n in (0, 1, 2, 3, 4, 5, 7, 12, 33):
        xs = np.arange(1, n + 1, dtype=np.int32)
        np.testing.assert_array_equal(program.main(xs), reference.main(xs))
