"""Lengths of ragged rows: their shapes, limits and errors."""

from __future__ import annotations

import numpy as np
import pytest

from runelift.ir.base.errors import UserError
from runelift.runtime.data.lengths import SHAPES, draw, parse


@pytest.mark.parametrize("shape", SHAPES)
def test_lengths_are_within_the_cap_and_repeat(shape: str) -> None:
    for n, cap in ((0, 9), (1, 0), (7, 1), (1000, 40)):
        found = draw(n, shape, cap, 3)
        assert found.dtype == np.int64
        assert found.shape == (n,)
        assert np.all((found >= 0) & (found <= cap))
        np.testing.assert_array_equal(found, draw(n, shape, cap, 3))


def test_shapes_are_what_their_names_say() -> None:
    n = 100_000
    assert set(draw(n, "uniform", 8)) == set(range(1, 9))
    assert draw(3, "equal", 5).tolist() == [5, 5, 5]
    assert draw(n, "geometric", 256).mean() == pytest.approx(32, rel=0.05)
    assert (draw(n, "geometric", 256) == 0).mean() == pytest.approx(1 / 33, rel=0.1)
    power = draw(n, "power", 1000)
    assert (power >= 10).mean() == pytest.approx(10 ** -1.2, rel=0.1)
    assert power.min() == 1
    one = draw(n, "one", 1000)
    assert np.sort(one)[-2:].tolist() == [4, 1000]
    assert one.argmax() == n // 2
    assert draw(4, "empty", 9).tolist() == [0, 0, 0, 0]
    assert draw(4, "alternating", 9).tolist() == [0, 9, 0, 9]
    assert draw(4, "ascending", 3).tolist() == [1, 2, 3, 3]


@pytest.mark.parametrize("text", [
    "", "3", "3 power", "power 3 4", "3 power x", "3 power 4 5 6", "3 power 4 -1", "3 odd 4",
    f"3 equal {1 << 54}", "-1 power 4", "3 power -4"])
def test_what_cannot_be_drawn(text: str) -> None:
    with pytest.raises(UserError, match=r"N SHAPE CAP|no shape|at least 0"):
        parse(text)
