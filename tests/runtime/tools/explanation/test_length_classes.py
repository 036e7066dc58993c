"""Classes of lengths, and steps that versions waste, beside a count of each step."""

from __future__ import annotations

import numpy as np
import pytest

from runelift.runtime.data.lengths import SHAPES, draw
from runelift.runtime.tools.explanation.segments import (
    ISSUED,
    LANES,
    WIDTH,
    class_lines,
    waste,
)


def test_a_line_for_each_power_of_two() -> None:
    assert list(class_lines(np.array([1, 1, 1, 1, 3, 4]))) == [
        f"up to 1  {WIDTH * '█'} 4", "up to 2   0", f"up to 4  {WIDTH // 2 * '█'} 2"]
    assert list(class_lines(np.array([], np.int64))) == []
    assert list(class_lines(np.array([1 << 45]))) == [
        f"up to {1 << 45:,}  {WIDTH * '█'} 1"]


@pytest.mark.parametrize("abreast", [1, 32])
@pytest.mark.parametrize("shape", SHAPES)
def test_waste_is_that_of_each_step(shape: str, abreast: int) -> None:
    """Work-items are followed in turn: each round of a sub-group issues a step for all of it."""
    lengths = draw(301, shape, 77)
    total = int(lengths.sum())
    wanted = dict.fromkeys(ISSUED, total + len(lengths))
    wanted["row"] = wanted["lanes"] = wanted["group"] = 0
    for first in range(0, len(lengths), abreast):
        wanted["row"] += abreast * max(map(int, lengths[first:first + abreast]))
    teams = max(abreast // LANES, 1)
    for first in range(0, len(lengths), teams):
        rounds = max(-(-int(each) // LANES) for each in lengths[first:first + teams])
        wanted["lanes"] += LANES * teams * rounds
    for each in map(int, lengths):
        wanted["group"] += abreast * -(-each // abreast)
    for version, issued in wanted.items():
        found = waste(version, [lengths], abreast)
        assert found == (pytest.approx(issued / total) if total else None)
        assert found is None or found >= 1
    assert waste("outer", [lengths], abreast) is None
